"""Publishes `operator_status`: what the operator has to know, from what the `teleop` node hears and says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray

from rlt_ros import msg
from rlt_ros.loop.conductor import Word
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_operator import operator_status_to_message
from rlt_ros.nodes.diagnostics import DEVICE, OK, REFEREE, ROBOT_MODE
from rlt_ros.operator.board import StatusBoard
from rlt_ros.types import ExecutedStep

if TYPE_CHECKING:
    from rlt_ros.nodes.teleop import TeleopNode

PERIOD = 0.2
"""s between two statuses where nothing changes."""


class StatusPublisher:
    """Feeds a board and publishes what it makes of it. warnings: of the node, asked for at every status."""

    def __init__(self, node: TeleopNode, board: StatusBoard, warnings: Callable[[], list[str]]) -> None:
        self._node, self.board, self._warnings = node, board, warnings
        self._sent: tuple[object, ...] = ()
        self._publisher = node.create_publisher(msg.OperatorStatus, "operator_status", qos.LATCHED)
        here = node.get_namespace().strip("/")
        self._robot_mode = f"{here}/executor: {ROBOT_MODE}".lstrip("/")
        self._referee = f"{here}/referee: {REFEREE}".lstrip("/")
        self._device = re.compile(rf"{re.escape(f'{here}/'.lstrip('/'))}[^/]+: {DEVICE}(.+)")
        node.listen(DiagnosticArray, "/diagnostics", self._on_diagnostics, qos.STATS)
        node.every(PERIOD, lambda: self._publish(always=True))

    def executed(self, step: ExecutedStep) -> None:
        """An executed step has come."""
        self.board.executed(step)
        self._publish()

    def said(self, word: Word) -> None:
        """The word for an observation has been given."""
        self.board.said(word.mode, word.events)
        self._publish()

    def answered(self, request: Request, answer: Answer) -> None:
        """A request was answered."""
        self.board.answered(request, answer, self._now())
        self._publish()

    def _publish(self, always: bool = False) -> None:
        status = self.board.status(self._now(), self._node.links.values(), self._warnings())
        if always or status.at_once != self._sent:
            self._sent = status.at_once
            self._publisher.publish(operator_status_to_message(status))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._robot_mode:
                self.board.robot_mode = status.message
            elif device := self._device.fullmatch(status.name):
                self.board.devices.take(device[1], status.level == OK, status.message)
            elif status.name == self._referee:
                self.board.referee.take(status.message)

    def _now(self) -> int:
        return self._node.get_clock().now().nanoseconds

"""The topics from which a viewer's scene is made."""

from __future__ import annotations

import time
from dataclasses import replace

from rlt_ros import msg
from rlt_ros.monitor.scene import SceneKeeper
from rlt_ros.monitor.text import status_text
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import chunk_from_message, matrix, step_from_message
from rlt_ros.nodes.convert_robot import Part, robot_state
from rlt_ros.nodes.robot_listener import RobotListener
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.state import RobotState

LOOKS = 20.0
"""Hz at which the robot's state is looked at: as often as a control step."""


class SceneTopics:
    """Feeds a `SceneKeeper`. state: the newest whole state of the robot, None before the first."""

    def __init__(self, node: BaseNode, robot: RobotConfig) -> None:
        self.keeper = SceneKeeper(robot)
        self.state: RobotState | None = None
        self._robot, self._parts = robot, dict[str, Part]()
        slow = replace(robot, state=replace(robot.state, rate=min(robot.state.rate, LOOKS)))
        self._listener = RobotListener(node, slow, self._on_robot, report=False)
        node.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        node.listen(msg.Features, "features", self._on_features, qos.STEP)
        node.listen(msg.ActionChunk, "action_chunk", self._on_chunk, qos.COMMAND)
        node.listen(msg.OperatorStatus, "operator_status", self._on_status, qos.LATCHED)

    def _on_robot(self, name: str, part: Part) -> None:
        self._parts[name] = part
        if set(self._parts) == set(self._listener.streams):
            self.state = robot_state(self._parts, self._robot)
            self.keeper.measured(self.state.pose, self.state.force, time.monotonic())

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        self.keeper.executed(step_from_message(message), time.monotonic())

    def _on_features(self, message: msg.Features) -> None:
        reference = matrix(message.reference, message.horizon, message.action_dim, "reference")
        self.keeper.referred(message.id, reference, time.monotonic())

    def _on_chunk(self, message: msg.ActionChunk) -> None:
        self.keeper.chosen(chunk_from_message(message), time.monotonic())

    def _on_status(self, message: msg.OperatorStatus) -> None:
        self.keeper.said(status_text(message), time.monotonic())

"""The only way from this package to the arm's controller: one publisher, whatever the command back-end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rlt_ros.nodes import qos
from rlt_ros.nodes.command_channels import channel_of
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.commands.base import CommandRefused, SetPoint
from rlt_ros.robot.commands.choice import backend_of
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState


class CommandPort:
    """Sends set-points and holds as messages of the robot config's back-end.

    Raises ImportError at once where the back-end needs a package that is not installed.
    """

    def __init__(self, node: BaseNode, robot: RobotConfig) -> None:
        self._node = node
        self._backend = backend_of(robot)
        self._channel = channel_of(node, robot, self._backend)
        self.topic = node.robot_topic(self._channel.topic)
        self._publisher = node.create_publisher(self._channel.kind, self.topic, qos.COMMAND)
        self._last: tuple[tuple[int, bool], Any] | None = None

    def publishers(self) -> int:
        """Publishers on the command topic, this one included: controllers ignore a topic with two."""
        return self._node.count_publishers(self.topic)

    def missing(self) -> tuple[str, ...]:
        """What is not there for commands to have an effect; empty if nothing is known to be missing."""
        listeners = self._node.count_subscribers(self.topic)
        silent = () if listeners else (f"{self.topic} has no subscriber: is the controller active?",)
        return (*silent, *self._channel.missing())

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Why the back-end cannot send the arm to a target; empty if it can."""
        return self._channel.halted() or self._backend.refuses(target, state)

    def send(self, setpoints: Sequence[SetPoint], state: RobotState, stamp: int) -> None:
        """Command set-points. stamp: ns, of the observation in lockstep, now in real time.

        Raises CommandRefused and sends nothing where `refuses` gives a reason for one of them.
        """
        halted = self._channel.halted()
        if halted:
            raise CommandRefused(halted)
        self._publish(stamp, False, lambda seconds: self._backend.command(setpoints, state, seconds))

    def hold(self, target: Pose, state: RobotState | None, stamp: int) -> None:
        """Keep the arm where it is. target: pose to hold at. state: None if nothing recent was measured."""
        self._publish(stamp, True, lambda seconds: self._backend.hold(target, state, seconds))

    def restart(self) -> None:
        """The arm may be anywhere, after a reset or a recovery: forget what was commanded."""
        self._backend.restart()
        self._last = None

    def _publish(self, stamp: int, holding: bool, make: Callable[[float], Any]) -> None:
        # In lockstep a repeated observation gets the same answer: its command must not be planned a second time. In
        # real time a simulated clock may show the same stamp at two set-points.
        if self._last is None or not self._node.lockstep or self._last[0] != (stamp, holding):
            seconds = stamp * 1e-9 if self._node.lockstep else time.monotonic()
            self._last = (stamp, holding), self._channel.message(make(seconds), stamp)
        self._publisher.publish(self._last[1])

"""What the simulated world asks of a controller."""

from __future__ import annotations

from typing import Any, Protocol

from rlt_ros.robot.pose import Pose


class Rejected(ValueError):
    """A command that the real controller would drop; its log would say why, nobody is told."""


class Controller(Protocol):
    """Turns commands into what drives the simulated joints."""

    @property
    def desired(self) -> Pose:
        """Pose of the tool that the controller wants at present."""

    def place(self, start: Pose) -> None:
        """The joints have been teleported so that the tool is at a pose: pull nowhere else meanwhile."""

    def reset(self) -> None:
        """Activated at the present state: nothing of earlier commands is left."""

    def accept(self, command: Any, delay: float = 0.0) -> None:
        """Take a command that begins to count in `delay` seconds, negative if it did so before.

        Raises Rejected, saying why.
        """

    def cycle(self) -> None:
        """Once per cycle, before the physics moves on."""

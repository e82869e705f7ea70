"""The gripper as a held state: one command per change, never one per control step."""

from __future__ import annotations

from rlt_ros.robot.config import Gripper

OPEN, CLOSED = 1.0, -1.0


class GripperLatch:
    """Turns the gripper value of an action (-1 closed, +1 open) into a held state with hysteresis.

    The value must reach +-hysteresis to decide anything, so widths in metres or a 0..1 convention sent by mistake never
    close a gripper. The first decided value after `start` is always commanded, even if the gripper seems to be there
    already: an initial flag that was wrong would swallow the first close (field report A09). Later, only changes are
    commanded: franka_gripper runs every goal in a thread of its own and pre-empts none (franka_ros.md B.4).
    """

    def __init__(self, config: Gripper) -> None:
        self._config = config
        self._held = OPEN
        self._commanded = False

    @property
    def held(self) -> float:
        """The held state, -1 or +1: what a transition stores."""
        return self._held

    @property
    def width(self) -> float:
        """Width in metres that the held state asks for."""
        return self._config.open_width if self._held == OPEN else self._config.closed_width

    def start(self, width: float) -> None:
        """Take the held state from the measured width (m); the next decided value will be commanded."""
        middle = 0.5 * (self._config.closed_width + self._config.open_width)
        self._held = OPEN if width > middle else CLOSED
        self._commanded = False

    def update(self, value: float) -> float | None:
        """Held state (-1 or +1) to command now, None if there is nothing to do; NaN decides nothing."""
        if value >= self._config.hysteresis:
            wanted = OPEN
        elif value <= -self._config.hysteresis:
            wanted = CLOSED
        else:
            return None
        if self._commanded and wanted == self._held:
            return None
        self._held, self._commanded = wanted, True
        return wanted

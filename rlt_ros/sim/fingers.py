"""The gripper's fingers. The peg is welded to the hand: closed fingers touch it, open ones leave it where it is."""

from __future__ import annotations

import math

from rlt_ros.robot.description import FINGER_TRAVEL


class Fingers:
    """Width of the gripper and its motion at a finite speed.

    object_width: m, of what the fingers close upon. All widths in metres, speeds in m/s.
    """

    def __init__(self, object_width: float, speed: float) -> None:
        self._object_width = object_width
        self._default_speed = speed
        self.reset()

    def reset(self) -> None:
        """Closed upon the peg, at rest."""
        self.width = self.goal = self._object_width
        self._speed = self._default_speed

    def command(self, width: float, speed: float | None = None) -> None:
        """Move towards a width; the peg stops the fingers. Raises ValueError if width or speed is impossible."""
        speed = self._default_speed if speed is None else speed
        if not 0.0 <= width <= 2 * FINGER_TRAVEL:
            raise ValueError(f"gripper width {width} m; expected 0 to {2 * FINGER_TRAVEL} m")
        if not (math.isfinite(speed) and speed > 0.0):
            raise ValueError(f"gripper speed {speed} m/s; expected a positive number")
        self.goal, self._speed = max(width, self._object_width), speed

    def stop(self) -> None:
        """Stand still where they are."""
        self.goal = self.width

    @property
    def moving(self) -> bool:
        """The goal is not reached yet."""
        return self.width != self.goal

    def advance(self, seconds: float) -> None:
        """Move for some time."""
        reach = self._speed * seconds
        self.width += min(max(self.goal - self.width, -reach), reach)

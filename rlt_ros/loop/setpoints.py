"""Set-points between control steps: what the controller is told at the command rate, on a steady clock.

A target is a pose that one control step leads to (20 Hz); set-points lie on the way to it (50 Hz). They stop at the
target: nothing is extrapolated, so when no target follows, the arm holds without being told.
"""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose

AHEAD = 0.2
"""s: no target is pursued longer, so nothing is ever commanded further ahead (design.md 3)."""

INTERPOLATION = 0.05
"""s from a new target to its arrival: the shortest that moves without a stop between two control steps at 20 Hz."""

MARGIN = 2.0
"""How much faster than the fastest action of the action scale a set-point may move, to catch up after a late tick or
target."""


class Setpoints:
    """The set-point of the moment: on the straight way (position linear, rotation about one axis) from the last one to
    the target.

    period: s between set-points. interpolation: s from a new target to its arrival; the first part of the way is due at
    once, so that a new target shows in the next set-point. translation (m), rotation (rad): most that a set-point
    differs from the one before. A new target in mid-way starts from the last set-point: there is no jump at a chunk
    boundary. Times are steady seconds; one that goes back stands still.
    """

    def __init__(self, period: float, interpolation: float, translation: float, rotation: float) -> None:
        bounds = {"period": period, "translation": translation, "rotation": rotation}
        for name, value in bounds.items():
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} of the set-points is {value}; expected a positive number")
        if not 0.0 <= interpolation <= AHEAD:
            raise ValueError(f"interpolation of the set-points is {interpolation} s; expected 0 to {AHEAD} s")
        self._period, self._interpolation = period, interpolation
        self._translation, self._rotation = translation, rotation
        self._start: Pose | None = None
        self._goal: Pose | None = None
        self._last: Pose | None = None
        self._aimed = 0.0
        self._done = 0.0

    @property
    def goal(self) -> Pose | None:
        """Where the set-points go, or stand; None if nothing is commanded."""
        return self._goal

    @property
    def last(self) -> Pose | None:
        """The set-point given last; None if nothing is commanded."""
        return self._last

    @property
    def moving(self) -> bool:
        """The last set-point is not at the target yet."""
        return self._goal is not None and self._last is not self._goal

    def aim(self, goal: Pose, now: float, start: Pose) -> None:
        """A new target from a moment on. start: where to start from if nothing is commanded yet (the measured pose)."""
        self._start = self._last = start if self._last is None else self._last
        self._goal, self._aimed, self._done = goal, now, 0.0

    def stand(self, pose: Pose) -> None:
        """Stop at once: at the last set-point, or at a measured pose where the arm stands elsewhere. The way to a
        target that is already under way to this very pose goes on: it ends there."""
        if pose is not self._goal:
            self._start = self._last = self._goal = pose

    def stop(self) -> None:
        """Stop at once where the last set-point is."""
        self._start = self._goal = self._last

    def release(self) -> None:
        """Command nothing until the next target."""
        self._start = self._goal = self._last = None

    def at(self, now: float) -> Pose | None:
        """The set-point of a moment; None if nothing is commanded."""
        if not self.moving:
            return self._last
        if now - self._aimed > AHEAD + self._period:
            self.stop()
            return self._last
        self._last = self._bounded(self._wanted(now))
        return self._last

    def _wanted(self, now: float) -> Pose:
        share = (now - self._aimed + self._period) / (self._interpolation + self._period)
        self._done = max(self._done, min(share, 1.0))
        if self._done >= 1.0:
            return self._goal
        step, turn = self._start.to(self._goal)
        return self._start.moved(self._done * step, self._done * turn)

    def _bounded(self, wanted: Pose) -> Pose:
        step, turn = self._last.to(wanted)
        shorter, less = _shortened(step, self._translation), _shortened(turn, self._rotation)
        if shorter is step and less is turn:
            return wanted
        return self._last.moved(shorter, less)


def setpoints_of(robot: RobotConfig, interpolation: float) -> Setpoints:
    """Set-points at `command.rate`, bounded by the action scale and by the robot's `limits.speed` and `rotation_speed`.

    Raises ValueError if the rate is below the control rate.
    """
    rate, scale, limits = robot.command.rate, robot.action_scale, robot.limits
    if not rate >= robot.control_rate:
        raise ValueError(f"command.rate is {rate} Hz; expected at least control_rate, {robot.control_rate} Hz")
    # Translation and rotation are boxes of three values: their diagonal is the fastest action.
    fastest = MARGIN * math.sqrt(3.0) * robot.control_rate
    speed, turning = (
        min(fastest * scale.translation, limits.speed),
        min(fastest * scale.rotation, limits.rotation_speed),
    )
    return Setpoints(1.0 / rate, interpolation, speed / rate, turning / rate)


def _shortened(vector: np.ndarray, limit: float) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)

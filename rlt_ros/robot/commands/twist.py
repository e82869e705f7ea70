"""Twists for MoveIt Servo, which integrates them from where it has sent the arm before.

Servo starts from the measured position when it has sent nothing for a while (`incoming_command_timeout`, 0.1 s), and
goes on from its own last output otherwise. The back-end keeps the pose that its twists have led to, so that set-points
mean the same as with a Cartesian impedance: in contact, a target beyond the measured pose presses, and presses no
harder the longer it stays there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.commands.config import HORIZON
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState

TIMEOUT = 0.1
"""s without a twist after which Servo halts and forgets what it has sent (incoming_command_timeout)."""


class TwistBackend:
    """The velocity that makes up, within `lead`, for the distance between what was commanded and the set-point."""

    def __init__(self, robot: RobotConfig) -> None:
        self._settings = robot.command.twist
        # Servo cuts faster twists off, and what was commanded would no longer be known.
        self._speed = min(robot.limits.speed, self._settings.linear_scale)
        self._rotation_speed = min(robot.limits.rotation_speed, self._settings.rotational_scale)
        self.restart()

    def restart(self) -> None:
        """Start from the measured pose."""
        self._commanded: Pose | None = None
        self._setpoint: Pose | None = None
        self._twist = np.zeros(6)
        self._at = 0.0

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Nothing: Servo itself slows down and halts before singularities, joint limits and collisions."""
        return ""

    def command(self, setpoints: Sequence[SetPoint], state: RobotState, seconds: float) -> np.ndarray:
        """Twist float64 (6,) towards the first set-point: linear (m/s) over angular (rad/s), base axes, origin at the
        tool; divided by Servo's scale where it takes unitless ones."""
        if not setpoints:
            raise ValueError("no set-points to command")
        self._towards(setpoints[0], state, seconds)
        return self._scaled()

    def hold(self, target: Pose, state: RobotState | None, seconds: float) -> np.ndarray:
        """The rest of the way to the set-point commanded last, if it is the one to hold at; otherwise no velocity."""
        if state is not None and self._setpoint is target and self._reached(seconds) is not None:
            self._towards(SetPoint(target), state, seconds)
        else:
            self._commanded, self._at, self._twist = self._reached(seconds), seconds, np.zeros(6)
        return self._scaled()

    def _towards(self, point: SetPoint, state: RobotState, seconds: float) -> None:
        seconds_left = point.ahead + self._settings.lead
        if not 0.0 < seconds_left <= HORIZON + 1e-9:
            raise ValueError(f"set-point is reached after {seconds_left} s; expected up to {HORIZON}")
        commanded = self._reached(seconds)
        if commanded is None or self._drifted(commanded, state):
            commanded = state.pose
        step, turn = commanded.to(point.pose)
        self._twist = np.concatenate(
            [_limited(step / seconds_left, self._speed), _limited(turn / seconds_left, self._rotation_speed)]
        )
        self._setpoint, self._commanded, self._at = point.pose, commanded, seconds

    def _reached(self, seconds: float) -> Pose | None:
        """Where the twists have led by now; None where Servo has nothing to go on from."""
        passed = seconds - self._at
        if self._commanded is None or not 0.0 <= passed <= TIMEOUT:
            return None
        return self._commanded.moved(self._twist[:3] * passed, self._twist[3:] * passed)

    def _drifted(self, commanded: Pose, state: RobotState) -> bool:
        step, turn = commanded.to(state.pose)
        return bool(np.linalg.norm(step) > self._settings.drift or np.linalg.norm(turn) > self._settings.drift_rotation)

    def _scaled(self) -> np.ndarray:
        if self._settings.units == "speed":
            return self._twist.copy()
        return self._twist / np.repeat([self._settings.linear_scale, self._settings.rotational_scale], 3)


def _limited(velocity: np.ndarray, limit: float) -> np.ndarray:
    size = float(np.linalg.norm(velocity))
    return velocity if size <= limit else velocity * (limit / size)

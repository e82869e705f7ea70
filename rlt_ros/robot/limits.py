"""Joint limits of the Franka Research 3: positions, and velocities that depend on the position.

Source: Franka Robotics, "Robot and interface specifications", limits for the Franka Research 3, 2026-05.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Vector7 = tuple[float, float, float, float, float, float, float]


@dataclass(frozen=True)
class JointLimits:
    """Of each joint: range (rad), largest velocity (rad/s) and acceleration (rad/s^2), and the velocity envelope.

    envelope_offset: rad/s; envelope_deceleration: rad/s^2.
    """

    lower: Vector7
    upper: Vector7
    velocity: Vector7
    acceleration: Vector7
    envelope_offset: Vector7
    envelope_deceleration: Vector7

    def __post_init__(self) -> None:
        if not (np.array(self.lower) < np.array(self.upper)).all():
            raise ValueError(f"lower {list(self.lower)} must lie below upper {list(self.upper)}")
        for name in ("velocity", "acceleration", "envelope_deceleration"):
            if not (np.array(getattr(self, name)) > 0).all():
                raise ValueError(f"{name} must be positive, found {list(getattr(self, name))}")

    def outside(self, q: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """Which joints bool (7,) are nearer than a margin (rad) to an end of their range, or not finite."""
        q = np.asarray(q, dtype=np.float64)
        return ~((q >= np.array(self.lower) + margin) & (q <= np.array(self.upper) - margin))

    def velocity_range(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest velocity float64 (7,), rad/s, that the arm accepts at joint positions (7,) in rad.

        Towards the end of a range the arm must still be able to brake; beyond it only the way back is left.
        """
        q = np.asarray(q, dtype=np.float64)
        return -self._towards(q - np.array(self.lower)), self._towards(np.array(self.upper) - q)

    def _towards(self, distance: np.ndarray) -> np.ndarray:
        braking = np.sqrt(np.maximum(0.0, 2.0 * np.array(self.envelope_deceleration) * distance))
        return np.minimum(self.velocity, np.maximum(0.0, braking - np.array(self.envelope_offset)))


@dataclass(frozen=True)
class Arm:
    """The arm itself: joint limits, limits of the tool (m/s, m/s^2, rad/s, rad/s^2) and its ready posture (rad)."""

    joints: JointLimits
    tool_speed: float
    tool_acceleration: float
    tool_rotation_speed: float
    tool_rotation_acceleration: float
    ready: Vector7

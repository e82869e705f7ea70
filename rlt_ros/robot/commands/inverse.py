"""Inverse kinematics from set-point to set-point: near the last joint positions, or not at all."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.commands.base import CommandRefused
from rlt_ros.robot.commands.config import JointTrajectory
from rlt_ros.robot.kinematics import ArmModel
from rlt_ros.robot.limits import Arm
from rlt_ros.robot.pose import Pose

TOLERANCE = 1e-6
"""m and rad that a solution may miss its pose by."""
ITERATIONS = 20
_LARGEST_DRIFT = 0.005
"""rad per set-point that the elbow is drawn towards the ready posture at most."""


class InverseKinematics:
    """Damped least squares from a seed, the elbow drawn back to the ready posture a little at a time.

    model: of the arm. arm: its limits. settings: margins of the back-end.
    """

    def __init__(self, model: ArmModel, arm: Arm, settings: JointTrajectory) -> None:
        self._model, self._joints, self._settings = model, arm.joints, settings
        self._ready = np.array(arm.ready)

    def solve(self, pose: Pose, seed: np.ndarray) -> np.ndarray:
        """Joint positions float64 (7,) in rad that bring the tool to a pose, next to a seed (7,).

        Raises CommandRefused, which names the joint and both values: out of reach, near a singularity, too near the end
        of a joint's range (a joint that is there may still move back), or further from the seed than `largest_step`.
        """
        q = self._drawn_back(np.array(seed, dtype=np.float64))
        for _ in range(ITERATIONS):
            error = self._model.error(q, pose)
            if np.linalg.norm(error) < TOLERANCE:
                self._check(q, seed)
                return q
            q = q + self._model.towards(q, error)
        raise CommandRefused(
            f"reach: {np.linalg.norm(error[:3]) * 1e3:.1f} mm and {np.linalg.norm(error[3:]):.3f} rad are left to the "
            f"target after {ITERATIONS} iterations"
        )

    def _drawn_back(self, seed: np.ndarray) -> np.ndarray:
        """The seed moved towards the ready posture within the null space, where the tool hardly moves."""
        j = self._model.jacobian(seed)
        wanted = self._settings.posture_gain * (self._ready - seed)
        free = wanted - np.linalg.pinv(j) @ (j @ wanted)
        return seed + np.clip(free, -_LARGEST_DRIFT, _LARGEST_DRIFT)

    def _check(self, q: np.ndarray, seed: np.ndarray) -> None:
        smallest = float(np.linalg.svd(self._model.jacobian(q), compute_uv=False)[-1])
        if smallest < self._settings.manipulability:
            limit = self._settings.manipulability
            raise CommandRefused(f"singularity: smallest singular value {smallest:.3f}, limit {limit:.3f}")
        middle = 0.5 * (np.array(self._joints.lower) + np.array(self._joints.upper))
        further_out = np.abs(q - middle) > np.abs(seed - middle)
        ends = self._joints.outside(q, self._settings.joint_margin) & further_out
        if ends.any():
            i = int(np.argmax(ends))
            low, high, margin = self._joints.lower[i], self._joints.upper[i], self._settings.joint_margin
            limits = f"its range is {low} to {high} rad, margin {margin} rad"
            raise CommandRefused(f"limits: joint {i + 1} would be at {q[i]:.3f} rad; {limits}")
        step = np.abs(q - seed)
        if step.max() > self._settings.largest_step:
            i, limit = int(np.argmax(step)), self._settings.largest_step
            raise CommandRefused(f"jump: joint {i + 1} would move by {step[i]:.3f} rad, limit {limit} rad")

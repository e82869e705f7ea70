"""MoveIt Servo with twists: what its loop does between a twist and the joint positions that it sends on.

After moveit_servo's servo_node.cpp, command.cpp and common.cpp: twists are integrated from the last output, or from the
measured positions once nothing has gone out for a while; scaled down before singularities; halted at joint limits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rlt_ros.robot.kinematics import ArmModel
from rlt_ros.robot.limits import JointLimits
from rlt_ros.sim.controllers.base import Rejected


class Status(IntEnum):
    """moveit_msgs/ServoStatus.code."""

    INVALID = -1
    NO_WARNING = 0
    DECELERATE_FOR_APPROACHING_SINGULARITY = 1
    HALT_FOR_SINGULARITY = 2
    DECELERATE_FOR_LEAVING_SINGULARITY = 3
    DECELERATE_FOR_COLLISION = 4
    HALT_FOR_COLLISION = 5
    JOINT_BOUND = 6


@dataclass(frozen=True)
class ServoConfig:
    """Parameters of moveit_servo, at its defaults."""

    incoming_command_timeout: float = 0.1
    """s"""
    linear_scale: float = 0.4
    """m/s, fastest twist (or that of 1 where they are unitless)"""
    rotational_scale: float = 0.8
    """rad/s"""
    unitless: bool = False
    lower_singularity_threshold: float = 17.0
    """Condition number of the Jacobian from which it slows down."""
    hard_stop_singularity_threshold: float = 30.0
    leaving_singularity_threshold_multiplier: float = 2.0
    singularity_step_scale: float = 0.01
    joint_limit_margin: float = 0.1
    """rad"""
    max_expected_latency: float = 0.1
    """s by which the controller below gets to a position later than Servo has thought of it"""


class Servo:
    """Joint positions and velocities from twists of the tool along the base axes. period: s of a cycle."""

    def __init__(self, model: ArmModel, joints: JointLimits, period: float, config: ServoConfig) -> None:
        self._model, self._joints, self._period, self._config = model, joints, period, config
        self.reset(np.zeros(7))

    def reset(self, positions: np.ndarray) -> None:
        """Started at joint positions (7,)."""
        self.status = Status.NO_WARNING
        self._positions = np.array(positions, dtype=np.float64)
        self._twist, self._since, self._fresh, self._running = np.zeros(6), 0.0, False, False
        still = self._positions, np.zeros(7)
        self._outgoing = deque([still] * (1 + round(self._config.max_expected_latency / self._period)))

    @property
    def positions(self) -> np.ndarray:
        """What the twists have been integrated to, (7,) in rad."""
        return self._positions

    def accept(self, twist: np.ndarray, stamped: float) -> None:
        """A twist (6,) in m/s and rad/s (or unitless). stamped: s on the clock of `cycle`. Raises Rejected."""
        if np.shape(twist) != (6,) or not np.isfinite(twist).all():
            self.status, self._fresh = Status.INVALID, False
            raise Rejected(f"invalid twist {np.asarray(twist).tolist()}")
        self._twist, self._since, self._fresh = np.array(twist, dtype=np.float64), stamped, True

    def cycle(self, measured: np.ndarray, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Joint positions (7,) and velocities (7,) that are due at a moment; measured: joint positions (7,)."""
        velocities = np.zeros(7)
        if self._fresh and now - self._since >= self._config.incoming_command_timeout:
            self._fresh = self._running = False
        if self._fresh:
            if not self._running:
                self._positions, self._running = np.array(measured, dtype=np.float64), True
            velocities = self._velocities()
            self._positions = self._positions + velocities * self._period
        self._outgoing.append((self._positions, velocities))
        self._outgoing.popleft()
        return self._outgoing[0]

    def _velocities(self) -> np.ndarray:
        self.status = Status.NO_WARNING
        twist = self._scaled()
        if not twist.any():
            return np.zeros(7)
        j = self._model.jacobian(self._positions)
        u, sizes, vt = np.linalg.svd(j, full_matrices=False)
        inverse = vt.T @ np.diag(1.0 / sizes) @ u.T
        wanted = inverse @ twist * self._singularity(inverse, u[:, -1], sizes, twist)
        limit = np.array(self._joints.velocity)
        wanted = wanted * min(1.0, float((limit / np.maximum(np.abs(wanted), 1e-12)).min()))
        return self._within_limits(wanted)

    def _scaled(self) -> np.ndarray:
        c, twist = self._config, self._twist
        if c.unitless:
            return twist * np.repeat([c.linear_scale, c.rotational_scale], 3)
        sizes = np.array([np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])])
        excess = np.maximum(sizes / [c.linear_scale, c.rotational_scale], 1.0)
        return twist / np.repeat(excess, 3)

    def _singularity(self, inverse: np.ndarray, least: np.ndarray, sizes: np.ndarray, twist: np.ndarray) -> float:
        """Factor on the velocities near a singularity."""
        c, condition = self._config, float(sizes[0] / sizes[-1])
        if condition <= c.lower_singularity_threshold:
            return 1.0
        if condition >= c.hard_stop_singularity_threshold:
            self.status = Status.HALT_FOR_SINGULARITY
            return 0.0
        looked = self._model.jacobian(self._positions + inverse @ least * c.singularity_step_scale)
        beyond = np.linalg.svd(looked, compute_uv=False)
        towards = float(least @ twist) * (1.0 if beyond[0] / beyond[-1] > condition else -1.0) > 0.0
        width = c.hard_stop_singularity_threshold - c.lower_singularity_threshold
        width *= 1.0 if towards else c.leaving_singularity_threshold_multiplier
        self.status = (
            Status.DECELERATE_FOR_APPROACHING_SINGULARITY if towards else Status.DECELERATE_FOR_LEAVING_SINGULARITY
        )
        return 1.0 - (condition - c.lower_singularity_threshold) / width

    def _within_limits(self, wanted: np.ndarray) -> np.ndarray:
        reached, margin = self._positions + wanted * self._period, self._config.joint_limit_margin
        below = (wanted < 0.0) & (reached < np.array(self._joints.lower) + margin)
        above = (wanted > 0.0) & (reached > np.array(self._joints.upper) - margin)
        if not (below | above).any():
            return wanted
        self.status = Status.JOINT_BOUND
        return np.zeros(7)

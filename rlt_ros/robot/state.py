"""The measured state of the arm, and the proprioception made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rlt_ros.robot.pose import Pose


class RobotMode(IntEnum):
    """franka_msgs/FrankaRobotState.robot_mode."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6


@dataclass(frozen=True)
class RobotState:
    """One consistent measurement of the arm.

    stamp: ns. pose: tool centre point in the base frame. joint_positions, joint_velocities: float64 (7,), rad, rad/s.
    force, torque: float64 (3,), external, along the base axes, N and Nm. gripper_width: m.
    mode: None where no robot state is published. error: any current error flag.
    """

    stamp: int
    pose: Pose
    joint_positions: np.ndarray
    joint_velocities: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    gripper_width: float
    mode: RobotMode | None
    error: bool = False


def proprioception(state: RobotState, reference: Pose, twist: np.ndarray) -> np.ndarray:
    """The 19 values of `types.PROPRIO_NAMES`, float32, SI units.

    reference: pose that the measured pose is relative to. twist: float64 (6,), linear (m/s) then angular (rad/s)
    velocity of the tool along the base axes (`robot.kinematics.tool_twist`). Raises ValueError if one is not finite.
    """
    translation, turn = reference.to(state.pose)
    values = np.concatenate([[state.gripper_width], translation, turn, twist, state.force, state.torque])
    if values.shape != (19,) or not np.isfinite(values).all():
        raise ValueError(f"proprioception is not 19 finite values: {values.tolist()}")
    return values.astype(np.float32)

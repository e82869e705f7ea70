"""The measured state of the arm, and the proprioception made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rlt_ros.robot.pose import Pose, continued
from rlt_ros.types import PROPRIO_NAMES

_TURN = slice(4, 7)


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
    mode: None where no robot state is published. error: any current error flag; errors: their names, as far as known.
    motion_errors: names of what ended the last motion. success_rate: share of control commands that arrived in time,
    None where it is not known.
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
    errors: tuple[str, ...] = ()
    motion_errors: tuple[str, ...] = ()
    success_rate: float | None = None


def proprioception(
    state: RobotState, reference: Pose, twist: np.ndarray, before: np.ndarray | None = None
) -> np.ndarray:
    """The 19 values of `types.PROPRIO_NAMES`, float32, SI units.

    reference: pose that the measured pose is relative to. twist: float64 (6,), linear (m/s) then angular (rad/s)
    velocity of the tool along the base axes (`robot.kinematics.tool_twist`). before: the 19 values of the observation
    before, so that a rotation that passes half a turn goes on instead of jumping to the opposite side; near the
    reference it changes nothing. Raises ValueError naming what is not finite.
    """
    translation, turn = reference.to(state.pose)
    if before is not None:
        turn = continued(turn, before[_TURN])
    values = np.concatenate([[state.gripper_width], translation, turn, twist, state.force, state.torque])
    if values.shape != (len(PROPRIO_NAMES),):
        raise ValueError(f"proprioception has {values.shape} values; expected {len(PROPRIO_NAMES)}")
    if not np.isfinite(values).all():
        wrong = [name for name, value in zip(PROPRIO_NAMES, values, strict=True) if not np.isfinite(value)]
        raise ValueError(f"proprioception is not finite in {', '.join(wrong)}")
    return values.astype(np.float32)

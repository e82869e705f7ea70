"""One good message of every stream of the robot's state, for tests to spoil."""

from __future__ import annotations

from typing import Any

import numpy as np
from franka_msgs.msg import FrankaRobotState
from geometry_msgs.msg import PoseStamped, Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState

from rlt_ros.nodes.convert import header
from rlt_ros.nodes.convert_robot import stamped_pose
from rlt_ros.robot.config import load_robot

ROBOT = load_robot()
STAMP = 3 * 10**9 + 17


def joints(names: tuple[str, ...], position: list[float], stamp: int = STAMP) -> JointState:
    velocity = [value / 10 for value in position]
    return JointState(header=header(stamp), name=list(names), position=position, velocity=velocity)


def arm_joints(stamp: int = STAMP) -> JointState:
    """Alphabetical as the broadcaster gives them, and one more than wanted."""
    names = (*ROBOT.joint_names[::-1], "other_joint")
    return joints(names, [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 99.0], stamp)


def pose(stamp: int = STAMP) -> PoseStamped:
    return stamped_pose(ROBOT.reference, stamp, ROBOT.base_frame)


def wrench(stamp: int = STAMP) -> WrenchStamped:
    values = Wrench(force=Vector3(x=1.0, y=2.0, z=3.0), torque=Vector3(x=4.0, y=5.0, z=6.0))
    return WrenchStamped(header=header(stamp, ROBOT.base_frame), wrench=values)


def report(stamp: int = STAMP) -> FrankaRobotState:
    m = FrankaRobotState(header=header(stamp), control_command_success_rate=0.91)
    m.measured_joint_state, m.o_t_ee, m.o_f_ext_hat_k = arm_joints(0), pose(0), wrench(0)
    m.robot_mode = FrankaRobotState.ROBOT_MODE_REFLEX
    m.current_errors.joint_reflex = m.current_errors.power_limit_violation = True
    m.last_motion_errors.cartesian_reflex = True
    return m


def messages(stamp: int = STAMP) -> dict[str, Any]:
    """Stream to message."""
    return {
        "joint_states": arm_joints(stamp),
        "current_pose": pose(stamp),
        "external_wrench": wrench(stamp),
        "gripper_joint_states": joints(ROBOT.finger_joint_names, [0.02, 0.02], stamp),
        "robot_state": report(stamp),
    }


FIRST_JOINTS = np.arange(1.0, 8.0)

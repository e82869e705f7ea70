"""What the drivers of arm, hand and cameras publish, filled from the simulated world: types, frames, joint names."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Vector3, Wrench, WrenchStamped
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, Image, JointState

from rlt_ros import msg
from rlt_ros.nodes.convert import header
from rlt_ros.nodes.convert_robot import image_to_message, pose_to_message, stamped_pose
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.sim.peg import PegInsertion

try:
    from franka_msgs.msg import FrankaRobotState
except ImportError:  # no binary release for every distribution: the convenience topics carry what is needed
    FrankaRobotState = None


def clock(stamp: int) -> Clock:
    """rosgraph_msgs/Clock."""
    return Clock(clock=Time(sec=stamp // 10**9, nanosec=stamp % 10**9))


def joint_state(names: tuple[str, ...], stamp: int, *, position: Any, velocity: Any, effort: Any) -> JointState:
    """sensor_msgs/JointState in rad, rad/s, Nm (m and m/s for fingers)."""
    lists = {"position": position, "velocity": velocity, "effort": effort}
    return JointState(header=header(stamp), name=list(names), **{k: [float(x) for x in v] for k, v in lists.items()})


def arm_joints(world: PegInsertion, state: RobotState, stamp: int) -> JointState:
    """measured_joint_states of the arm."""
    names, q, dq = world.robot.joint_names, state.joint_positions, state.joint_velocities
    return joint_state(names, stamp, position=q, velocity=dq, effort=world.efforts)


def finger_joints(robot: RobotConfig, width: float, stamp: int) -> JointState:
    """franka_gripper/joint_states: each finger stands at half the width; velocity and effort are always 0 there."""
    zeros = (0.0, 0.0)
    return joint_state(robot.finger_joint_names, stamp, position=(width / 2,) * 2, velocity=zeros, effort=zeros)


def wrench(state: RobotState, stamp: int, frame: str) -> WrenchStamped:
    """external_wrench_in_base_frame in N and Nm."""
    return WrenchStamped(header=header(stamp, frame), wrench=_wrench(state.force, state.torque))


def _wrench(force: np.ndarray, torque: np.ndarray) -> Wrench:
    return Wrench(force=_vector(force), torque=_vector(torque))


def _vector(values: np.ndarray) -> Vector3:
    x, y, z = (float(v) for v in values)
    return Vector3(x=x, y=y, z=z)


def robot_report(world: PegInsertion, state: RobotState, stamp: int) -> Any:
    """franka_msgs/FrankaRobotState: measured and desired state, wrench, robot_mode; the rest as at rest."""
    frame = world.robot.base_frame
    m = FrankaRobotState(header=header(stamp))
    m.measured_joint_state = arm_joints(world, state, stamp)
    m.o_f_ext_hat_k = wrench(state, stamp, frame)
    m.o_t_ee = stamped_pose(state.pose, stamp, frame)
    m.o_t_ee_d = m.o_t_ee_c = stamped_pose(world.desired, stamp, frame)
    m.time = float(stamp / 1e9)
    m.control_command_success_rate = 1.0
    m.robot_mode = int(RobotMode.MOVE if state.mode is None else state.mode)
    m.current_errors.cartesian_reflex = m.last_motion_errors.cartesian_reflex = bool(state.error)
    return m


def current_pose(state: RobotState, stamp: int, frame: str) -> PoseStamped:
    """current_pose of the tool centre point."""
    return stamped_pose(state.pose, stamp, frame)


def camera_frame(camera: str) -> str:
    """Optical frame of a camera, named as the RealSense driver does."""
    return f"{camera}_color_optical_frame"


def image(camera: str, rgb: np.ndarray, stamp: int) -> Image:
    """<camera>/color/image_raw."""
    return image_to_message(rgb, stamp, camera_frame(camera))


def camera_info(world: PegInsertion, camera: str, stamp: int) -> CameraInfo:
    """<camera>/color/camera_info of a pinhole camera without distortion."""
    i = world.intrinsics(camera)
    m = CameraInfo(header=header(stamp, camera_frame(camera)), width=int(i.width), height=int(i.height))
    m.distortion_model = "plumb_bob"
    m.d = [0.0] * 5
    m.k = np.array([i.fx, 0, i.cx, 0, i.fy, i.cy, 0, 0, 1], dtype=np.float64)
    m.r = np.eye(3, dtype=np.float64).ravel()
    m.p = np.array([i.fx, 0, i.cx, 0, 0, i.fy, i.cy, 0, 0, 0, 1, 0], dtype=np.float64)
    return m


def truth(world: PegInsertion, stamp: int, **rest: Any) -> msg.SimTruth:
    """rlt_ros/SimTruth. rest: fields that the world does not know."""
    t = world.truth()
    x, y, z = (float(v) for v in t.tip)
    return msg.SimTruth(
        header=header(stamp, world.robot.base_frame),
        tip=Point(x=x, y=y, z=z),
        hole=pose_to_message(t.hole),
        depth=float(t.depth),
        lateral=float(t.lateral),
        turn=float(t.turn),
        success=bool(t.success),
        tool=pose_to_message(world.pose),
        **rest,
    )


def mark(world: PegInsertion, stamp: int) -> PoseStamped:
    """Pose of the board's mark: origin in the middle of the hole, x axis towards the mark."""
    episode = world.episode
    turn = Rotation.from_rotvec([0.0, 0.0, episode.mark]).as_quat()
    return stamped_pose(Pose.of(episode.hole.position, turn), stamp, world.robot.base_frame)

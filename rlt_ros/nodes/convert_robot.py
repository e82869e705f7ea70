"""Camera, Franka and observation messages to arrays and back; the other half of `convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from cv_bridge import CvBridge, CvBridgeError
from geometry_msgs.msg import Point, PoseStamped, Quaternion, WrenchStamped
from geometry_msgs.msg import Pose as PoseMessage
from sensor_msgs.msg import Image, JointState

from rlt_ros import msg
from rlt_ros.data.images import square
from rlt_ros.nodes.convert import BadMessage, bytes_field, floats, header, stamp_of, vector
from rlt_ros.robot.config import Topics
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.types import PROPRIO_NAMES, Observation

_BRIDGE = CvBridge()


def image_to_message(rgb: np.ndarray, stamp: int, frame_id: str) -> Image:
    """sensor_msgs/Image (rgb8) from uint8 (h, w, 3)."""
    height, width, _ = rgb.shape
    return Image(
        header=header(stamp, frame_id),
        height=int(height),
        width=int(width),
        encoding="rgb8",
        is_bigendian=0,
        step=int(width * 3),
        data=bytes_field(rgb),
    )


def image_from_message(m: Image, size: int | None = None) -> np.ndarray:
    """uint8 RGB (h, w, 3) from a camera image of any colour encoding; with a size, centre-cropped and resized to it."""
    if m.height < 1 or m.width < 1 or len(m.data) < m.height * m.step:
        raise BadMessage(f"image of {m.width} x {m.height} has {len(m.data)} bytes; expected {m.height * m.step}")
    try:
        rgb = _BRIDGE.imgmsg_to_cv2(m, "rgb8")
    except (CvBridgeError, KeyError, TypeError, ValueError) as error:
        raise BadMessage(f"image encoding {m.encoding!r} cannot be turned into rgb8: {error}") from error
    return np.ascontiguousarray(rgb) if size is None else square(rgb, size)


def pose_from_message(m: PoseMessage) -> Pose:
    """Pose from geometry_msgs/Pose."""
    p, q = m.position, m.orientation
    try:
        return Pose.of((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    except ValueError as error:
        raise BadMessage(str(error)) from error


def pose_to_message(pose: Pose) -> PoseMessage:
    """geometry_msgs/Pose from a Pose."""
    x, y, z = (float(v) for v in pose.position)
    qx, qy, qz, qw = (float(v) for v in pose.quaternion)
    return PoseMessage(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def stamped_pose(pose: Pose, stamp: int, frame_id: str) -> PoseStamped:
    """geometry_msgs/PoseStamped from a Pose."""
    return PoseStamped(header=header(stamp, frame_id), pose=pose_to_message(pose))


def _by_name(m: JointState, names: Sequence[str], values: Sequence[float], field: str) -> np.ndarray:
    # Order differs between broadcasters and driver versions; only names are reliable.
    table = dict(zip(m.name, values))
    missing = [n for n in names if n not in table]
    if missing:
        raise BadMessage(f"{field} of joint {missing[0]!r} is missing; message has {list(m.name)}")
    out = np.array([table[n] for n in names], dtype=np.float64)
    if not np.isfinite(out).all():
        raise BadMessage(f"{field} is not finite: {out.tolist()}")
    return out


def state_streams(topics: Topics) -> dict[str, tuple[type, str]]:
    """Streams that `robot_state` needs: name to message type and topic, relative to the robot's namespace."""
    return {
        "joint_states": (JointState, topics.joint_states),
        "current_pose": (PoseStamped, topics.current_pose),
        "external_wrench": (WrenchStamped, topics.external_wrench),
        "gripper_joint_states": (JointState, topics.gripper_joint_states),
    }


def robot_state(
    messages: Mapping[str, Any], stamp: int, joints: Sequence[str], fingers: Sequence[str], base_frame: str
) -> RobotState:
    """RobotState from the messages of one stamp.

    messages: `joint_states`, `gripper_joint_states` (JointState), `current_pose` (PoseStamped), `external_wrench`
    (WrenchStamped) and, where franka_msgs is installed, `robot_state` (FrankaRobotState).
    """
    pose_message = messages["current_pose"]
    if pose_message.header.frame_id != base_frame:
        raise BadMessage(f"current_pose is in frame {pose_message.header.frame_id!r}; expected {base_frame!r}")
    joint_message, finger_message = messages["joint_states"], messages["gripper_joint_states"]
    wrench = messages["external_wrench"].wrench
    state = RobotState(
        stamp=stamp,
        pose=pose_from_message(pose_message.pose),
        joint_positions=_by_name(joint_message, joints, joint_message.position, "position"),
        joint_velocities=_by_name(joint_message, joints, joint_message.velocity, "velocity"),
        force=np.array([wrench.force.x, wrench.force.y, wrench.force.z]),
        torque=np.array([wrench.torque.x, wrench.torque.y, wrench.torque.z]),
        gripper_width=float(_by_name(finger_message, fingers, finger_message.position, "position").sum()),
        mode=None,
    )
    report = messages.get("robot_state")
    return state if report is None else replace(state, mode=RobotMode(report.robot_mode), error=_any(report))


def _any(report: Any) -> bool:
    # By reflection: franka_ros2 releases add flags.
    errors = report.current_errors
    return any(bool(getattr(errors, name)) for name in errors.get_fields_and_field_types())


def observation_to_message(observation: Observation, frame_id: str) -> msg.Observation:
    """Observation to rlt_ros/Observation."""
    images = observation.images
    return msg.Observation(
        header=header(observation.stamp, frame_id),
        id=int(observation.id),
        episode=int(observation.episode),
        step=int(observation.step),
        cameras=list(images),
        images=[image_to_message(rgb, observation.stamp, name) for name, rgb in images.items()],
        proprio=floats(observation.proprio),
    )


def observation_from_message(m: msg.Observation) -> Observation:
    """rlt_ros/Observation to Observation; the images are views of the message and must not be written to."""
    if len(m.cameras) != len(m.images):
        raise BadMessage(f"observation names {len(m.cameras)} cameras but carries {len(m.images)} images")
    return Observation(
        id=m.id,
        stamp=stamp_of(m.header),
        episode=m.episode,
        step=m.step,
        images={name: _view(image, name) for name, image in zip(m.cameras, m.images)},
        proprio=vector(m.proprio, len(PROPRIO_NAMES), "proprio"),
    )


def _view(m: Image, name: str) -> np.ndarray:
    pixels = np.frombuffer(m.data, dtype=np.uint8)
    if m.encoding != "rgb8" or pixels.size != m.height * m.width * 3:
        found, wanted = f"{m.encoding} with {pixels.size} bytes", f"rgb8 {m.height} x {m.width}"
        raise BadMessage(f"image {name!r} is {found}; expected {wanted}")
    return pixels.reshape(m.height, m.width, 3)

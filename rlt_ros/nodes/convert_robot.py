"""Camera, Franka and observation messages to arrays and back; the other half of `convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cv_bridge import CvBridge, CvBridgeError
from geometry_msgs.msg import Point, PoseStamped, Quaternion, WrenchStamped
from geometry_msgs.msg import Pose as PoseMessage
from sensor_msgs.msg import Image, JointState

from rlt_ros import msg
from rlt_ros.data.images import square
from rlt_ros.nodes.convert import BadMessage, bytes_field, floats, header, stamp_of, vector
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.types import PROPRIO_NAMES, Observation

try:
    from franka_msgs.msg import FrankaRobotState
except ImportError:  # no binary release for every distribution: then robot_mode stays unknown
    FrankaRobotState = None

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


def _by_name(m: JointState, names: Sequence[str], field: str) -> np.ndarray:
    # Order differs between broadcasters and driver versions; only names are reliable.
    values = getattr(m, field)
    if len(values) != len(m.name):
        raise BadMessage(f"{field} has {len(values)} values for {len(m.name)} joint names")
    table = dict(zip(m.name, values))
    missing = [n for n in names if n not in table]
    if missing:
        raise BadMessage(f"{field} of joint {missing[0]!r} is missing; message has {list(m.name)}")
    return _finite(np.array([table[n] for n in names], dtype=np.float64), field)


def _finite(values: np.ndarray, field: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise BadMessage(f"{field} is not finite: {values.tolist()}")
    return values


def state_streams(robot: RobotConfig, report: bool = True) -> dict[str, tuple[type, str]]:
    """Streams that the robot's state is made of: name to message type and topic, relative to the robot's namespace.

    report: with robot_mode and errors, where they are not part of everything else anyway. Raises ValueError where the
    config wants franka_msgs and it is not installed.
    """
    topics, source = robot.topics, robot.state.source
    streams: dict[str, tuple[type, str]] = {}
    if source != "robot_state":
        streams["joint_states"] = (JointState, topics.joint_states)
        streams["current_pose"] = (PoseStamped, topics.current_pose)
        streams["external_wrench"] = (WrenchStamped, topics.external_wrench)
    if robot.finger_joint_names:
        streams["gripper_joint_states"] = (JointState, topics.gripper_joint_states)
    if source == "robot_state" and FrankaRobotState is None:
        raise ValueError("state.source is robot_state, which needs franka_msgs; it is not installed: use `topics`")
    if source == "robot_state" or (report and source == "topics" and FrankaRobotState is not None):
        streams["robot_state"] = (FrankaRobotState, topics.robot_state)
    return streams


@dataclass(frozen=True)
class Part:
    """What one message says of the robot. stamp: ns. fields: of RobotState."""

    stamp: int
    fields: dict[str, Any]


def state_part(stream: str, message: Any, robot: RobotConfig) -> Part:
    """What a message of one of `state_streams` says. Raises BadMessage naming what is wrong."""
    return Part(stamp_of(message.header), _PARTS[stream](message, robot))


def robot_state(parts: Mapping[str, Any], robot: RobotConfig) -> RobotState:
    """RobotState from the parts of `state_streams`, with the newest stamp; what else is there is ignored."""
    fields = {"gripper_width": robot.gripper.closed_width, "mode": None}  # of a robot without hand, without report
    used = [parts[stream] for stream in _PARTS if stream in parts]
    for part in used:
        fields |= part.fields
    return RobotState(stamp=max(part.stamp for part in used), **fields)


def _joints(m: JointState, robot: RobotConfig) -> dict[str, Any]:
    names = robot.joint_names
    return {"joint_positions": _by_name(m, names, "position"), "joint_velocities": _by_name(m, names, "velocity")}


def _pose(m: PoseStamped, robot: RobotConfig) -> dict[str, Any]:
    _check_frame(m, robot)
    return {"pose": pose_from_message(m.pose)}


def _wrench(m: WrenchStamped, robot: RobotConfig) -> dict[str, Any]:
    _check_frame(m, robot)
    f, t = m.wrench.force, m.wrench.torque
    return {
        "force": _finite(np.array([f.x, f.y, f.z]), "force"),
        "torque": _finite(np.array([t.x, t.y, t.z]), "torque"),
    }


def _fingers(m: JointState, robot: RobotConfig) -> dict[str, Any]:
    return {"gripper_width": float(_by_name(m, robot.finger_joint_names, "position").sum())}


def _report(m: Any, robot: RobotConfig) -> dict[str, Any]:
    errors, past = _active(m.current_errors), _active(m.last_motion_errors)
    fields = {"mode": _mode(m.robot_mode), "error": bool(errors), "errors": errors, "motion_errors": past}
    fields["success_rate"] = float(m.control_command_success_rate)
    if robot.state.source != "robot_state":
        return fields
    arm = _joints(m.measured_joint_state, robot) | _pose(m.o_t_ee, robot) | _wrench(m.o_f_ext_hat_k, robot)
    return fields | arm


_PARTS = {
    "joint_states": _joints,
    "current_pose": _pose,
    "external_wrench": _wrench,
    "gripper_joint_states": _fingers,
    "robot_state": _report,
}


def _check_frame(m: PoseStamped | WrenchStamped, robot: RobotConfig) -> None:
    if m.header.frame_id != robot.base_frame:
        raise BadMessage(f"frame is {m.header.frame_id!r}; expected {robot.base_frame!r}")


def _mode(value: int) -> RobotMode:
    try:
        return RobotMode(value)
    except ValueError:
        raise BadMessage(f"robot_mode is {value}; expected one of {[int(mode) for mode in RobotMode]}") from None


def _active(flags: Any) -> tuple[str, ...]:
    # By reflection: franka_ros2 releases add flags.
    return tuple(name for name in flags.get_fields_and_field_types() if bool(getattr(flags, name)))


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

"""TF messages: what robot_state_publisher and static_transform_publisher send."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from geometry_msgs.msg import Transform as TransformMessage
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import header
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.frames import Transform
from rlt_ros.robot.pose import Pose


def tf_message(transforms: Iterable[Transform], stamp: int) -> TFMessage:
    """tf2_msgs/TFMessage of one moment (ns)."""
    return TFMessage(transforms=[_stamped(transform, stamp) for transform in transforms])


def _stamped(transform: Transform, stamp: int) -> TransformStamped:
    x, y, z = (float(v) for v in transform.pose.position)
    qx, qy, qz, qw = (float(v) for v in transform.pose.quaternion)
    return TransformStamped(
        header=header(stamp, transform.parent),
        child_frame_id=transform.child,
        transform=TransformMessage(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw)),
    )


class StaticFrames:
    """Transforms on /tf_static, latched; nothing is published where there are none."""

    def __init__(self, node: Node, transforms: Iterable[Transform]) -> None:
        transforms = list(transforms)
        if transforms:
            self._publisher = node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)
            self._publisher.publish(tf_message(transforms, 0))


def camera_mounts(robot: RobotConfig) -> list[Transform]:
    """Where the robot config says that cameras are."""
    mounts = robot.camera_mounts.values()
    return [Transform(m.parent, m.frame, Pose.of(m.position, m.quaternion)) for m in mounts]

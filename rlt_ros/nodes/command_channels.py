"""What each command back-end needs of ROS: its topic, its messages, and what else must be there."""

from __future__ import annotations

import time
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_commands import trajectory_to_message, twist_to_message
from rlt_ros.nodes.convert_robot import stamped_pose
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.commands.base import Backend, Trajectory
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose

try:
    from moveit_msgs.msg import ServoStatus
    from moveit_msgs.srv import ServoCommandType
except ImportError:  # Servo's own messages; twists are standard ones
    ServoStatus = ServoCommandType = None

ASK_EVERY = 2.0
"""s between two requests of Servo's command type."""
STATUS_VALID = 0.3
"""s for which a status of Servo counts; it publishes one in every cycle."""
_HALTS = (-1, 2, 5)
"""ServoStatus codes with which the arm does not move: invalid, halted for singularity, halted for collision."""


class Channel:
    """A command topic of the robot. node: that publishes. robot: its config."""

    kind: type
    topic: str

    def __init__(self, node: BaseNode, robot: RobotConfig) -> None:
        self._node, self._robot = node, robot

    def message(self, command: Any, stamp: int) -> Any:
        """The message of a command. stamp: ns, the moment at which it counts."""
        raise NotImplementedError

    def missing(self) -> tuple[str, ...]:
        """What is not there for commands to have an effect, the topic's subscriber apart."""
        return ()

    def halted(self) -> str:
        """Why the controller itself has stopped the arm, as far as it says so; empty if it has not."""
        return ""


class PoseChannel(Channel):
    """crisp_controllers: target_pose, and once, if the config has it, target_stiffness."""

    kind = PoseStamped

    def __init__(self, node: BaseNode, robot: RobotConfig) -> None:
        super().__init__(node, robot)
        self.topic = robot.topics.target_pose
        stiffness = robot.command.cartesian_pose.stiffness
        if stiffness:
            topic = node.robot_topic(robot.topics.target_stiffness)
            self._stiffness = node.create_publisher(Float64MultiArray, topic, qos.LATCHED)
            self._stiffness.publish(Float64MultiArray(data=[float(value) for value in stiffness]))

    def message(self, command: Pose, stamp: int) -> PoseStamped:
        """geometry_msgs/PoseStamped in the base frame."""
        return stamped_pose(command, stamp, self._robot.base_frame)


class TrajectoryChannel(Channel):
    """joint_trajectory_controller; takes the arm's model from the robot's own description where there is one."""

    kind = JointTrajectory

    def __init__(self, node: BaseNode, robot: RobotConfig, backend: Any) -> None:
        super().__init__(node, robot)
        self.topic = robot.topics.joint_trajectory
        self._backend, self._described, self._commanded = backend, False, False
        self._description_topic = node.robot_topic(robot.topics.robot_description)
        node.listen(String, self._description_topic, self._on_description, qos.LATCHED)

    def _on_description(self, message: String) -> None:
        # Imported here: without it this channel does not come to be.
        from rlt_ros.robot.kinematics import model_of

        if self._commanded:
            raise ValueError(
                "a robot description that came after the first command is of no effect; restart to take it"
            )
        self._backend.use(model_of(self._robot, message.data))
        self._described = True

    def message(self, command: Trajectory, stamp: int) -> JointTrajectory:
        """trajectory_msgs/JointTrajectory; in real time with stamp 0, which means at once: clocks may differ."""
        self._commanded = True
        return trajectory_to_message(command, stamp if self._node.lockstep else 0, self._robot.base_frame)

    def missing(self) -> tuple[str, ...]:
        """The description."""
        if self._described:
            return ()
        return (f"{self._description_topic} has said nothing: the FR3's own numbers are used",)


class TwistChannel(Channel):
    """MoveIt Servo: asks it to take twists, and hears its status."""

    kind = TwistStamped

    def __init__(self, node: BaseNode, robot: RobotConfig) -> None:
        super().__init__(node, robot)
        self.topic = robot.topics.twist
        self._switched, self._status, self._heard = False, 0, float("-inf")
        self._text = ""
        if ServoCommandType is None:
            node.get_logger().warning("moveit_msgs is not installed: Servo must have been told to take twists (type 1)")
            return
        self._service = node.robot_topic(robot.topics.servo_command_type)
        self._client = node.create_client(ServoCommandType, self._service)
        node.listen(ServoStatus, node.robot_topic(robot.topics.servo_status), self._on_status, qos.STATS)
        self._asking = node.every(ASK_EVERY, self._ask)
        self._ask()

    def _ask(self) -> None:
        # Again and again: a Servo that was started anew takes joint jogs until it is told otherwise.
        if self._client.service_is_ready():
            request = ServoCommandType.Request(command_type=ServoCommandType.Request.TWIST)
            self._client.call_async(request).add_done_callback(self._answered)
        else:
            self._switched = False

    def _answered(self, future: Future) -> None:
        self._switched = future.exception() is None and bool(future.result().success)
        if not self._switched:
            self._node.get_logger().error(f"{self._service} was refused", throttle_duration_sec=5.0)

    def _on_status(self, message: Any) -> None:
        self._status, self._text, self._heard = int(message.code), str(message.message), time.monotonic()

    def message(self, command: Any, stamp: int) -> TwistStamped:
        """geometry_msgs/TwistStamped in the base frame."""
        return twist_to_message(command, stamp, self._robot.base_frame)

    def missing(self) -> tuple[str, ...]:
        """Servo's consent to take twists."""
        if ServoCommandType is None:
            return ("moveit_msgs is not installed: Servo's command type and status are not known",)
        return () if self._switched else (f"{self._service} has not confirmed that Servo takes twists",)

    def halted(self) -> str:
        """Servo's own halt. Not in lockstep: a status has no stamp."""
        fresh = time.monotonic() - self._heard < STATUS_VALID
        if self._node.lockstep or not fresh or self._status not in _HALTS:
            return ""
        return f"servo: status {self._status}, {self._text}"


def channel_of(node: BaseNode, robot: RobotConfig, backend: Backend) -> Channel:
    """The channel of a robot config's back-end."""
    if robot.command.backend == "cartesian_pose":
        return PoseChannel(node, robot)
    if robot.command.backend == "twist":
        return TwistChannel(node, robot)
    return TrajectoryChannel(node, robot, backend)

"""The simulated controller's side of the command topic, with the checks that the real one makes of a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from trajectory_msgs.msg import JointTrajectory

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import BadMessage, stamp_of
from rlt_ros.nodes.convert_commands import trajectory_from_message, twist_from_message
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.commands.base import Trajectory
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import model_of
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.peg import PegInsertion

try:
    from moveit_msgs.msg import ServoStatus
    from moveit_msgs.srv import ServoCommandType
except ImportError:  # Servo's own messages; twists are standard ones
    ServoStatus = ServoCommandType = None


class SimCommands:
    """Listens to the command topic of the robot config's back-end. on_command(stamp, command): stamp in ns."""

    def __init__(
        self, node: BaseNode, world: PegInsertion, robot: RobotConfig, on_command: Callable[[int, Any], None]
    ) -> None:
        self._node, self._world, self._robot, self._on_command = node, world, robot, on_command
        kind, topic, handler = {
            "cartesian_pose": (PoseStamped, robot.topics.target_pose, self._on_pose),
            "joint_trajectory": (JointTrajectory, robot.topics.joint_trajectory, self._on_trajectory),
            "twist": (TwistStamped, robot.topics.twist, self._on_twist),
        }[robot.command.backend]
        self._topic = node.robot_topic(topic)
        node.listen(kind, self._topic, handler, qos.COMMAND)
        twist, self._model = robot.command.twist, model_of(robot)
        scale = (twist.linear_scale, twist.rotational_scale) if twist.units == "unitless" else (1.0, 1.0)
        self._unit = np.repeat(scale, 3)
        self._servo = _ServoSide(node, world, robot) if robot.command.backend == "twist" else None

    def pose_of(self, command: Any) -> Pose:
        """Set-point that a command leads the tool to. Raises ValueError for a trajectory that leads nowhere."""
        if isinstance(command, Pose):
            return command
        if isinstance(command, Trajectory):
            return self._end_of(command)
        speed = command * self._unit * self._robot.command.twist.lead
        return self._world.controller.led.moved(speed[:3], speed[3:])

    def _end_of(self, trajectory: Trajectory) -> Pose:
        if not trajectory.times.size:
            raise BadMessage("empty trajectory received")
        last = dict(zip(trajectory.names, trajectory.positions[-1]))
        missing = [name for name in self._robot.joint_names if name not in last]
        if missing:
            raise BadMessage(f"joint {missing[0]!r} is not on the trajectory; it has {list(trajectory.names)}")
        return self._model.forward(np.array([last[name] for name in self._robot.joint_names]))

    def _on_pose(self, message: PoseStamped) -> None:
        if self._node.count_publishers(self._topic) > 1:
            raise BadMessage("ignored: more than one publisher, as crisp_controllers does")
        self._check_frame(message.header.frame_id)
        self._on_command(stamp_of(message.header), pose_from_message(message.pose))

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self._on_command(stamp_of(message.header), trajectory_from_message(message))

    def _on_twist(self, message: TwistStamped) -> None:
        stamp, frame, twist = twist_from_message(message)
        self._check_frame(frame)
        if not self._servo.takes_twists:
            raise BadMessage("ignored: the command type has not been set to twist")
        self._on_command(stamp, twist)

    def _check_frame(self, frame: str) -> None:
        if frame != self._robot.base_frame:
            raise BadMessage(f"ignored: frame {frame!r}; expected {self._robot.base_frame!r}")


class _ServoSide:
    """Servo's service and status, where moveit_msgs is installed; else it takes twists from the start."""

    def __init__(self, node: BaseNode, world: PegInsertion, robot: RobotConfig) -> None:
        self.takes_twists = ServoCommandType is None
        self._world = world
        if ServoCommandType is None:
            return
        topics = robot.topics
        self._server = node.create_service(
            ServoCommandType, node.robot_topic(topics.servo_command_type), self._on_command_type
        )
        self._status = node.create_publisher(ServoStatus, node.robot_topic(topics.servo_status), qos.STATS)
        node.every(0.05, self._tell)

    def _on_command_type(self, request: Any, response: Any) -> Any:
        self.takes_twists = request.command_type == ServoCommandType.Request.TWIST
        response.success = request.command_type in (0, 1, 2)
        return response

    def _tell(self) -> None:
        status = self._world.controller.status
        self._status.publish(ServoStatus(code=int(status), message=status.name.replace("_", " ").capitalize()))

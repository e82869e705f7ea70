"""The robot's state topics, checked one message at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.subscription import Subscription

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_robot import Part, state_part, state_streams
from rlt_ros.nodes.polling import Unattended, take
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.config import RobotConfig

Handler = Callable[[str, Part], None]


class RobotListener:
    """Hands every checked part of the robot's state to a handler, with the name of its stream.

    In lockstep each message is handed over as it comes. In real time the broadcaster sends up to 1 kHz on each topic,
    and a Python callback for each message would take a core: there the newest of each is looked at `state.rate` times
    a second, and nothing else is converted. A message that is refused is reported by topic and counted; its stream then
    goes stale, and the arm holds. report: with robot_mode and errors.
    """

    def __init__(self, node: BaseNode, robot: RobotConfig, handler: Handler, report: bool = True) -> None:
        self._node, self._robot, self._handler = node, robot, handler
        self.streams = state_streams(robot, report)
        self._polled: dict[str, Subscription] = {}
        if node.lockstep:
            for name, (kind, topic) in self.streams.items():
                node.listen(kind, node.robot_topic(topic), lambda m, name=name: self._take(name, m), qos.SENSOR)
            return
        group = Unattended()
        for name, (kind, topic) in self.streams.items():
            self._polled[name] = node.create_subscription(
                kind, node.robot_topic(topic), lambda m: None, qos.BROADCASTER, callback_group=group
            )
        node.every(1.0 / robot.state.rate, self.poll)

    def poll(self) -> None:
        """Take the newest message of every topic, where one has come."""
        for name, subscription in self._polled.items():
            message = take(subscription)
            if message is not None:
                self._node.guarded(self._node.robot_topic(self.streams[name][1]), self._take, name, message)

    def absent(self) -> list[str]:
        """Topics that nobody publishes."""
        topics = (self._node.robot_topic(topic) for _, topic in self.streams.values())
        return [topic for topic in topics if self._node.count_publishers(topic) == 0]

    def _take(self, name: str, message: Any) -> None:
        part = state_part(name, message, self._robot)
        rate, limit = part.fields.get("success_rate"), self._robot.state.success_rate
        if rate is not None and rate < limit:
            self._node.get_logger().warning(
                f"control_command_success_rate is {rate:.2f}, below {limit:.2f}: commands reach the arm too late "
                "(network, other load on the robot's machine)",
                throttle_duration_sec=10.0,
            )
        self._handler(name, part)

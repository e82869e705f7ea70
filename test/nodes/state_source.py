"""A process that publishes every state topic at a rate, as the broadcaster does: `state_source.py RATE`."""

from __future__ import annotations

import sys
import time

import rclpy
from robot_messages import ROBOT, messages

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import time_message
from rlt_ros.nodes.convert_robot import state_streams


def main() -> None:
    """Publish until killed."""
    rclpy.init()
    node = rclpy.create_node("state_source")
    ready = messages()
    publishers = {
        name: node.create_publisher(kind, f"/{topic}", qos.STATS if name == "robot_state" else qos.BROADCASTER)
        for name, (kind, topic) in state_streams(ROBOT).items()
    }
    period, due = 1.0 / float(sys.argv[1]), time.monotonic()
    while rclpy.ok():
        now = time_message(time.time_ns())
        for name, publisher in publishers.items():
            ready[name].header.stamp = now
            publisher.publish(ready[name])
        due = max(due + period, time.monotonic() - 0.1)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()

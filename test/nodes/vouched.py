"""A publisher with a lease that publishes nothing and never lets go of its process."""

from __future__ import annotations

import rclpy
from std_msgs.msg import String

from rlt_ros.nodes import qos
from rlt_ros.nodes.witness import with_lease

if __name__ == "__main__":
    rclpy.init()
    publisher = rclpy.create_node("vouched").create_publisher(String, "work", with_lease(qos.STEP))
    while True:
        sum(range(100_000))

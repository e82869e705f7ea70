"""A node for the tests of the `ros2` verbs: topics of several kinds, a parameter, a service.

Its service `switch` makes the topic `late` appear.
"""

from __future__ import annotations

import rclpy
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import Image
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RATE = 20.0


class Talker(Node):
    """Publishes numbered messages."""

    def __init__(self) -> None:
        super().__init__("talker", namespace="/demo")
        bounds = FloatingPointRange(from_value=0.0, to_value=2.0)
        self.declare_parameter("gain", 0.5, ParameterDescriptor(description="Of it.", floating_point_range=[bounds]))
        self.declare_parameter("names", ["a", "b"])
        self.declare_parameter("fixed", 3, ParameterDescriptor(read_only=True))
        self._chatter = self.create_publisher(String, "chatter", 50)
        self._picture = self.create_publisher(Image, "picture", qos_profile_sensor_data)
        self._described = self.create_publisher(String, "description", LATCHED)
        self._described.publish(String(data="what it is"))
        self._late = None
        self.create_service(SetBool, "switch", self._on_switch)
        self._number = 0
        self.create_timer(1 / RATE, self._on_time)

    def _on_switch(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data and self._late is None:
            self._late = self.create_publisher(String, "late", 50)
        response.success, response.message = True, f"switched {'on' if request.data else 'off'}"
        return response

    def _on_time(self) -> None:
        self._number += 1
        text = String(data=f"number {self._number}")
        self._chatter.publish(text)
        header = Header(stamp=self.get_clock().now().to_msg(), frame_id=text.data)
        self._picture.publish(Image(header=header, height=2, width=2, encoding="mono8", step=2, data=b"1234"))
        if self._late is not None:
            self._late.publish(text)


def main() -> None:
    """Talk until the end."""
    with rclpy.init():
        try:
            rclpy.spin(Talker())
        except (KeyboardInterrupt, ExternalShutdownException):
            pass


if __name__ == "__main__":
    main()

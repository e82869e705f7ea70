"""Chunks, path, wrench, mode and workspace as markers for RViz; commands nothing."""

from __future__ import annotations

import time

from visualization_msgs.msg import MarkerArray

from rlt_ros.nodes import qos
from rlt_ros.nodes.diagnostics import Reports
from rlt_ros.nodes.marker_messages import markers
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.nodes.watching import SceneTopics
from rlt_ros.ranges import Range
from rlt_ros.robot.config import load_robot


class MarkersNode(BaseNode):
    """Publishes `markers` at a bounded rate, whatever comes in; nothing while nobody looks."""

    def __init__(self) -> None:
        super().__init__("markers")
        robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        rate = declare(self, "rate", 10.0, "Publications a second [Hz].", Range(0.1, 100.0), self._on_rate)
        self._frame = robot.base_frame
        self._topics = SceneTopics(self, robot)
        self._publisher = self.create_publisher(MarkerArray, "markers", qos.COMMAND)
        self._timer = self.every(1.0 / rate, self._on_tick)
        Reports(self, robot.name)
        self.get_logger().info(f"{self._publisher.topic_name}: markers in {self._frame}, at most {rate:g} a second")

    def _on_rate(self, rate: float) -> None:
        self._timer.timer_period_ns = round(1e9 / rate)
        self._timer.reset()  # a long wait under the old rate is not waited out

    def _on_tick(self) -> None:
        if self._publisher.get_subscription_count():
            self._publisher.publish(markers(self._topics.keeper.scene(time.monotonic()), self._frame))


def main() -> None:
    """Entry point."""
    run(MarkersNode)

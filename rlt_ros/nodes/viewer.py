"""Feeds the Rerun viewer, and records what it shows into the run directory; commands nothing."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Any

from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.monitor.arm import Skeleton
from rlt_ros.monitor.rerun_log import RerunLog
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_robot import image_from_message
from rlt_ros.nodes.diagnostics import Reports
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.polling import Unattended, take
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.nodes.watching import SceneTopics
from rlt_ros.ranges import Rate
from rlt_ros.robot.config import load_robot

STATS = {"learner_stats": msg.LearnerStats, "actor_stats": msg.ActorStats}


class ViewerNode(BaseNode):
    """Scene at one rate, pictures at another, numbers as they come. Of the pictures between two looks none is taken."""

    def __init__(self) -> None:
        super().__init__("viewer")
        robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        rate = declare(self, "rate", 10.0, "Looks at chunks, path and arm a second [Hz].", Rate)
        pictures = declare(self, "picture_rate", 5.0, "Pictures of each camera a second [Hz].", Rate)
        folder = declare(self, "run_dir", "", "Directory for the recording; empty: none is written.")
        live = declare(self, "live", bool(_display()), "Start the viewer; by default where there is a display.")
        self._file = new_file(Path(folder)) if folder else None
        self._log = RerunLog(robot.cameras, self._file, live)
        self._topics, self._skeleton = SceneTopics(self, robot), Skeleton(robot)
        self._began: float | None = None
        for topic, kind in STATS.items():
            self.listen(kind, topic, lambda m, topic=topic: self._on_stats(topic, m), qos.STATS)
        self._cameras = {
            name: self.create_subscription(
                Image, self.robot_topic(topic), lambda m: None, qos.BROADCASTER, callback_group=Unattended()
            )
            for name, topic in robot.cameras.items()
        }
        Reports(self, robot.name)
        self.every(1.0 / rate, self._on_scene)
        self.every(1.0 / pictures, self._on_pictures)
        self.get_logger().info(f"recording to {self._file}" if self._file else "nothing is recorded")

    def _now(self) -> float:
        """Seconds of robot time since the first look."""
        now = self.get_clock().now().nanoseconds / 1e9
        if self._began is None:
            self._began = now
        return now - self._began

    def _on_scene(self) -> None:
        self._log.at(self._now())
        self._log.scene(self._topics.keeper.scene(time.monotonic()))
        state = self._topics.state
        if state is not None:
            self._log.arm(self._skeleton.points(state.joint_positions))

    def _on_pictures(self) -> None:
        for camera, subscription in self._cameras.items():
            message = take(subscription)
            if message is not None:
                self.guarded(camera, self._picture, camera, message)

    def _picture(self, camera: str, message: Image) -> None:
        rgb = image_from_message(message)
        self._log.at(self._now())
        self._log.picture(camera, rgb)

    def _on_stats(self, topic: str, message: Any) -> None:
        values = {name: getattr(message, name) for name in message.get_fields_and_field_types()}
        self._log.at(self._now())
        self._log.curves(topic, {name: float(v) for name, v in values.items() if isinstance(v, (bool, int, float))})

    def close(self) -> None:
        self._log.close()


def new_file(folder: Path) -> Path:
    """A name in a run directory that no earlier recording has."""
    folder.mkdir(parents=True, exist_ok=True)
    names = (folder / f"monitor{f'-{number}' if number else ''}.rrd" for number in itertools.count())
    return next(path for path in names if not path.exists())


def _display() -> str:
    return os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or ""


def main() -> None:
    """Entry point."""
    run(ViewerNode)

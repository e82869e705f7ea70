"""What a recorder costs and loses: cameras and a state stream for a minute, every message numbered.

python -m bench.record --seconds 60 [--cameras 2] [--rate 30] [--width 640] [--height 480]

Prints one JSON line: by topic what was published and what the bag lacks, the cores that the recorder took, and the size
of the bag. On a machine with ROS the real `ros2 bag record` is measured, on others the one of standalone/.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from array import array
from pathlib import Path

import psutil
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Header

from rlt_ros.data.bags.bag import Bag

STATE = "/joint_states"
STATE_RATE = 100.0
FOUND_WITHIN = 60.0
DRAIN = 2.0


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to publish")
    parser.add_argument("--cameras", type=int, default=2)
    parser.add_argument("--rate", type=float, default=30.0, help="pictures per second and camera")
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=480)
    parser.add_argument("--preset", default="zstd_fast", help="--storage-preset-profile of the recorder")
    options = parser.parse_args()
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder) / "bag", options)))


def measured(bag: Path, options: argparse.Namespace) -> dict:
    """Publish beside a recorder; what became of it."""
    command = ["ros2", "bag", "record", "-o", str(bag), "--storage-preset-profile", options.preset]
    with rclpy.init():
        source = Source(options)
        recorder = psutil.Popen([*command, "--disable-keyboard-controls", "--topics", *source.topics])
        try:
            source.wait_for_subscribers()
            before, began = cpu_seconds(recorder), time.monotonic()
            source.publish_for(options.seconds)
            took, span = cpu_seconds(recorder) - before, time.monotonic() - began
            time.sleep(DRAIN)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait(120)
    return figures(bag, source.published) | {"cores": round(took / span, 2), "seconds": round(span, 1)}


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time of a process and its children so far."""
    times = [p.cpu_times() for p in (process, *process.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def figures(bag: Path, published: dict[str, int]) -> dict:
    """By topic, what was published and what is missing in the bag."""
    size = sum(path.stat().st_size for path in bag.iterdir())
    with Bag(bag) as opened:
        found: dict[str, set[str]] = {topic: set() for topic in published}
        for raw in opened.raw(list(published)):
            found[raw.topic].add(opened.message(raw).header.frame_id)
    lost = {topic: count - len(found[topic]) for topic, count in published.items()}
    return {"published": published, "lost": lost, "bag_mb": round(size / 1e6, 1)}


class Source:
    """Cameras with noise in their pictures, which do not compress, and a robot's state."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._node = rclpy.create_node("source", enable_rosout=False)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        sensor = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        names = [f"/camera_{number}/image_raw" for number in range(options.cameras)]
        self._pictures = {name: self._node.create_publisher(Image, name, sensor) for name in names}
        self._state = self._node.create_publisher(JointState, STATE, sensor)
        self._options, self._data = options, array("B", os.urandom(options.width * options.height * 3))
        self.topics = [*names, STATE]
        self.published = dict.fromkeys(self.topics, 0)

    def wait_for_subscribers(self) -> None:
        """Until the recorder has found every topic."""
        end = time.monotonic() + FOUND_WITHIN
        while not all(p.get_subscription_count() for p in (*self._pictures.values(), self._state)):
            if time.monotonic() > end:
                sys.exit(f"the recorder did not subscribe within {FOUND_WITHIN:g} s")
            self._executor.spin_once(timeout_sec=0.1)
        time.sleep(DRAIN)

    def publish_for(self, seconds: float) -> None:
        """All streams at their rates; one that is late is not made up for."""
        timers = [self._node.create_timer(1 / self._options.rate, self._send_pictures)]
        timers.append(self._node.create_timer(1 / STATE_RATE, self._send_state))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.1)
        for timer in timers:
            timer.cancel()

    def _send_pictures(self) -> None:
        width, height = self._options.width, self._options.height
        for name, publisher in self._pictures.items():
            picture = Image(header=self._header(name), width=width, height=height, encoding="rgb8", step=3 * width)
            picture.data = self._data
            publisher.publish(picture)

    def _send_state(self) -> None:
        self._state.publish(JointState(header=self._header(STATE), position=array("d", range(7))))

    def _header(self, topic: str) -> Header:
        self.published[topic] += 1
        return Header(stamp=self._node.get_clock().now().to_msg(), frame_id=str(self.published[topic]))


if __name__ == "__main__":
    main()

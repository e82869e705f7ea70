"""State at 1 kHz on five topics: the newest counts, and a Python node stays idle all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("franka_msgs.msg", reason="franka_msgs is not built here")
import rclpy
from graph import new_domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from robot_messages import ROBOT, messages

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_robot import Part, robot_state
from rlt_ros.nodes.robot_listener import RobotListener
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.state import RobotMode

HERE = Path(__file__).parent
"""Of a core, that five topics at 1 kHz may take here; 0.1 to 0.25 was measured, and callbacks for all need more than a
whole one."""


class Place:
    """A node with a listener in a domain of its own."""

    def __init__(self) -> None:
        self.domain = new_domain()
        self.context = Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        values = [Parameter("lockstep", value=False)]
        self.node = BaseNode("listening", context=self.context, parameter_overrides=values)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.parts: list[tuple[str, Part]] = []
        self.listener = RobotListener(self.node, ROBOT, lambda name, part: self.parts.append((name, part)))

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)

    def wait_for_every_stream(self) -> dict[str, Part]:
        for _ in range(400):
            self.spin(0.05)
            newest = dict(self.parts)
            if set(newest) == set(self.listener.streams):
                return newest
        raise AssertionError(f"only {sorted(dict(self.parts))} came")

    def share_of_a_core(self, seconds: float) -> tuple[float, float]:
        """Processor time of this process per second while it spins, and how long that was."""
        used, began = time.process_time(), time.monotonic()
        self.spin(seconds)
        took = time.monotonic() - began
        return (time.process_time() - used) / took, took

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture()
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


@pytest.fixture()
def source(place: Place) -> Iterator[subprocess.Popen]:
    environment = {**os.environ, "ROS_DOMAIN_ID": str(place.domain), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, HERE / "state_source.py", "1000"], env=environment)
    yield process
    process.kill()
    process.wait()


def test_a_broadcaster_at_1_khz_leaves_the_core_free(place: Place, source: subprocess.Popen) -> None:
    assert robot_state(place.wait_for_every_stream(), ROBOT).mode is RobotMode.REFLEX
    place.parts.clear()
    share, seconds = place.share_of_a_core(3.0)
    rate = sum(name == "joint_states" for name, _ in place.parts) / seconds
    assert 0.0 < rate <= 1.1 * ROBOT.state.rate
    newest = dict(place.parts)["joint_states"].stamp
    assert time.time_ns() - newest < 1e9, "the newest, not the oldest that waits"

    print(f"\n{share:.2f} of a core for {len(place.listener.streams)} topics, each looked at {rate:.0f} times a second")
    converted = len(place.parts) / seconds
    assert converted <= 1.1 * ROBOT.state.rate * len(place.listener.streams), "what comes between is left alone"


def test_a_refused_message_is_counted_and_does_not_silence_the_topic(place: Place) -> None:
    kind, topic = place.listener.streams["current_pose"]
    publisher = place.node.create_publisher(kind, f"/{topic}", qos.BROADCASTER)
    assert set(place.listener.absent()) == {f"/{t}" for _, t in place.listener.streams.values()} - {f"/{topic}"}
    bad, good = messages()["current_pose"], messages()["current_pose"]
    bad.pose.orientation.x = 0.0

    def sent(message: object, arrived: object) -> None:
        for _ in range(200):
            publisher.publish(message)
            place.spin(0.05)
            if arrived():
                return
        raise AssertionError("nothing came")

    sent(bad, lambda: place.node.refused[f"/{topic}"])
    assert not place.parts
    sent(good, lambda: place.parts)
    assert place.parts[-1][0] == "current_pose"


def test_a_low_success_rate_is_said(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    kind, topic = place.listener.streams["robot_state"]
    publisher = place.node.create_publisher(kind, f"/{topic}", qos.STATS)
    for _ in range(200):
        publisher.publish(messages()["robot_state"])
        place.spin(0.05)
        if place.parts:
            break
    assert "control_command_success_rate is 0.91, below 0.95" in capfd.readouterr().err

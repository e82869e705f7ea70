"""Everything around an executor node in real time, played by the test: an arm, observations, words, chunks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from graph import at_once, new_domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from robot_messages import ROBOT, messages
from rosgraph_msgs.msg import Clock

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header, time_message
from rlt_ros.nodes.convert_robot import pose_from_message, pose_to_message, state_streams
from rlt_ros.types import Mode

SECOND = 1_000_000_000
EXECUTOR = "from rlt_ros.nodes.executor import main; main()"


class Rig:
    """Publishes at 100 Hz what the arm measures and at 20 Hz an observation, a word and now and then a chunk.

    Switches say what is published; they can be thrown at any time. clock: stamps and /clock of a simulation.
    """

    def __init__(self, clock: bool = False, **parameters: object) -> None:
        self.domain, self.clock = new_domain(), clock
        self.mode, self.action, self.ahead = Mode.VLA, 0.4, 0
        self.measures = self.observes = self.speaks = self.decides = self.ticks = True
        self.silent: set[str] = set()
        self.changes: dict[str, Any] = {}
        self.number, self.pose = 0, ROBOT.reference
        self.commands: list[tuple[int, PoseStamped]] = []
        self.steps: list[msg.ExecutedStep] = []
        self.said: list[DiagnosticStatus] = []
        self.observed: dict[int, tuple[int, int]] = {}
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self.domain)
        self.node = rclpy.create_node("rig", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._connect()
        given = {"lockstep": False, "use_sim_time": clock, "publisher_lease": 0.0} | parameters
        options = [part for name, value in given.items() for part in ("-p", f"{name}:={str(value).lower()}")]
        self.process = subprocess.Popen(
            [*at_once(), sys.executable, "-c", EXECUTOR, "--ros-args", "-r", "__ns:=/rlt", *options],
            env={**os.environ, "ROS_DOMAIN_ID": str(self.domain)},
        )
        self._due = time.monotonic()
        self._ticks = 0

    def _connect(self) -> None:
        node = self.node
        self._state = {
            name: (node.create_publisher(kind, f"/{topic}", qos.BROADCASTER), messages()[name])
            for name, (kind, topic) in state_streams(ROBOT).items()
        }
        self.observations = node.create_publisher(msg.Observation, "/rlt/observation", qos.STEP)
        self.words = node.create_publisher(msg.PolicyMode, "/rlt/policy_mode", qos.STEP)
        self.chunks = node.create_publisher(msg.ActionChunk, "/rlt/action_chunk", qos.COMMAND)
        self.humans = node.create_publisher(msg.HumanAction, "/rlt/human_action", qos.STEP)
        self._clock = node.create_publisher(Clock, "/clock", qos.SENSOR) if self.clock else None
        node.create_subscription(PoseStamped, "/target_pose", self._on_command, qos.TRANSITIONS)
        node.create_subscription(msg.ExecutedStep, "/rlt/executed_step", self.steps.append, qos.TRANSITIONS)
        node.create_subscription(DiagnosticArray, "/diagnostics", lambda m: self.said.extend(m.status), qos.STATS)

    def _on_command(self, message: PoseStamped, info: Any) -> None:
        self.commands.append((int(info["source_timestamp"]), message))
        self.pose = pose_from_message(message.pose)

    @property
    def stamp(self) -> int:
        """Now, in ns of the clock that stamps come from."""
        return 1000 * SECOND + self._ticks * 10_000_000 if self.clock else time.time_ns()

    def run(self, seconds: float) -> None:
        """Let it go on for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._tick()

    def until(self, what: Callable[[], Any], why: str, timeout: float = 60.0) -> Any:
        """Let it go on until a condition holds."""
        end = time.monotonic() + timeout
        while not (value := what()):
            assert time.monotonic() < end, f"{timeout} s without {why}: {self.steps[-1:]}"
            assert self.process.poll() is None, f"the executor ended before {why}"
            self._tick()
        return value

    def _tick(self) -> None:
        self._due = max(self._due + 0.01, time.monotonic() - 0.05)
        count = round((self._due * 100) % 1e6)
        if self.ticks:
            self._ticks += 1
            if self._clock is not None:
                self._clock.publish(Clock(clock=time_message(self.stamp)))
        if self.measures:
            self._measure()
        if self.observes and count % 5 == 0:
            self._observe()
        while time.monotonic() < self._due:
            self._executor.spin_once(timeout_sec=max(0.0, self._due - time.monotonic()))

    def _measure(self) -> None:
        now, at = time_message(self.stamp), pose_to_message(self.pose)
        for name, (publisher, message) in self._state.items():
            if name in self.silent:
                continue
            message.header.stamp = now
            if name == "current_pose":
                message.pose = at
            if name == "external_wrench":
                message.wrench.force.z = float(self.changes.get("force", 0.0))
            if name == "robot_state":
                message.robot_mode = int(self.changes.get("mode", message.ROBOT_MODE_MOVE))
                message.current_errors = type(message.current_errors)()
            publisher.publish(message)

    def _observe(self) -> None:
        self.number += 1
        number, stamp = self.number, self.stamp
        self.observed[number] = (stamp, time.time_ns())
        self.observations.publish(msg.Observation(header=header(stamp), id=number, episode=1, step=number))
        if self.speaks:
            self.speak(number, stamp)
        if self.decides and number % 4 == 0:
            self.decide(number, stamp)

    def speak(self, number: int, stamp: int) -> None:
        """The operator's word for an observation."""
        word = msg.PolicyMode(header=header(stamp), observation_id=number, mode=int(self.mode), phase=1, episode=1)
        self.words.publish(word)
        if self.mode is Mode.HUMAN and self.decides:
            action = floats([self.action] * 3 + [0.0] * 3 + [-1.0])
            self.humans.publish(msg.HumanAction(header=header(stamp), observation_id=number, action=action))

    def decide(self, number: int, stamp: int, **changes: Any) -> None:
        """A chunk for an observation: up and down, so that the arm stays where it may go."""
        sign = 1.0 if (number // 20) % 2 else -1.0
        rows = np.tile(np.float32([0, 0, sign * self.action, 0, 0, 0, -1]), (10, 1))
        values = {"header": header(stamp), "features_id": number, "actions": floats(rows), "horizon": 10}
        self.chunks.publish(msg.ActionChunk(**(values | {"action_dim": 7, "driver": 0} | changes)))

    # what is seen of the executor

    def status(self, part: str) -> DiagnosticStatus | None:
        """The newest status of a part."""
        return next((s for s in reversed(self.said) if s.name == f"rlt/executor: {part}"), None)

    def value(self, part: str, key: str) -> str:
        """A value beside a status; empty if it is not there."""
        status = self.status(part)
        return {} if status is None else {v.key: v.value for v in status.values}.get(key, "")

    def drives(self, driver: int = msg.ExecutedStep.VLA, steps: int = 3) -> bool:
        """The newest steps were driven so."""
        newest = self.steps[-steps:]
        return len(newest) == steps and all(step.driver == driver for step in newest)

    def last_motion(self) -> int:
        """When the newest command that moved was sent, ns of the system clock."""
        moved = [t for (_, a), (t, b) in zip(self.commands, self.commands[1:]) if a.pose != b.pose]
        return moved[-1] if moved else 0

    def close(self) -> None:
        """End both sides."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

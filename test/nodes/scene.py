"""A `teleop` node for whoever operates it; the rest of the graph is played by the test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from graph import Listener, new_domain
from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header
from rlt_ros.nodes.convert_robot import image_to_message
from rlt_ros.robot.config import load_robot
from rlt_ros.types import Driver, Mode

TELEOP = "from rlt_ros.nodes.teleop import main; main()"
SPACE = "/arm1"
CAMERAS = {name: f"/{topic.strip('/')}" for name, topic in load_robot().cameras.items()}
TOPICS = {
    f"{SPACE}/policy_mode": (msg.PolicyMode, qos.STEP),
    f"{SPACE}/operator_status": (msg.OperatorStatus, qos.LATCHED),
}


class Scene:
    """A teleop node; the test plays the observation node, the executor and the learner at 20 Hz."""

    def __init__(self) -> None:
        self.listener = Listener(TOPICS, new_domain())
        self.env = {**os.environ, "ROS_DOMAIN_ID": str(self.listener.domain), "ROS_PYTHON_CHECK_FIELDS": "1"}
        node = self.listener.node
        self._observations = node.create_publisher(msg.Observation, f"{SPACE}/observation", qos.STEP)
        self._steps = node.create_publisher(msg.ExecutedStep, f"{SPACE}/executed_step", qos.EXECUTED)
        self._learner = node.create_publisher(msg.LearnerStats, f"{SPACE}/learner_stats", qos.STATS)
        self._diagnostics = node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATS)
        self._cameras = {name: node.create_publisher(Image, topic, qos.SENSOR) for name, topic in CAMERAS.items()}
        self.pictures: dict[str, np.ndarray] = {}
        self.id, self.episode, self._due = 0, 0, time.monotonic()
        self.goes = True
        self.teleop: subprocess.Popen | None = None

    def start_teleop(self) -> None:
        command = [sys.executable, "-c", TELEOP, "--ros-args", "-r", f"__ns:={SPACE}"]
        self.teleop = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL)

    def tick(self) -> bool:
        """Let the graph go on; always True."""
        self.listener.spin(0.01)
        if self.goes and time.monotonic() >= self._due:
            self._due = time.monotonic() + 0.05
            self._step()
        return True

    def _step(self) -> None:
        word = self.mode
        self.id += 1
        stamp = header(time.time_ns())
        # The word that ends a reset may be older than the reset itself.
        done = word is not None and word.mode == Mode.RESET and word.episode == self.episode
        self._observations.publish(msg.Observation(header=stamp, id=self.id, episode=self.episode, step=self.id))
        drivers = {Mode.VLA: Driver.VLA, Mode.HUMAN: Driver.HUMAN, Mode.RESET: Driver.RESET}
        driver = Driver.HOLD if word is None else drivers.get(Mode(word.mode), Driver.HOLD)
        still = floats(np.zeros(7))
        phase_id = word.phase_id if word is not None else 0
        self._steps.publish(msg.ExecutedStep(
            header=stamp, observation_id=self.id, episode=self.episode, step=self.id, driver=int(driver), action=still,
            sent=still, phase_id=phase_id, reset_done=done,
        ))  # fmt: skip
        self.episode += done
        status = DiagnosticStatus(name=f"{SPACE[1:]}/executor: robot mode", message="MOVE")
        self._diagnostics.publish(DiagnosticArray(header=stamp, status=[status]))
        reason = "212 of 512 rows"
        self._learner.publish(msg.LearnerStats(header=stamp, rows=212, critic_updates=40, gate_reason=reason))
        for name, picture in self.pictures.items():
            self._cameras[name].publish(image_to_message(picture, time.time_ns(), name))

    @property
    def mode(self) -> msg.PolicyMode | None:
        return self.listener.newest(f"{SPACE}/policy_mode")

    @property
    def status(self) -> msg.OperatorStatus | None:
        return self.listener.newest(f"{SPACE}/operator_status")

    def close(self) -> None:
        if self.teleop is not None:
            self.teleop.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.teleop.wait(10)
            self.teleop.kill()
            self.teleop.wait()
        self.listener.close()

"""Begins and labels critical phases by rules, as one more client of `teleop`."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np
from std_msgs.msg import Float32

from rlt_ros import msg
from rlt_ros.loop.heard import keep_newest
from rlt_ros.loop.requests import Answer
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import mode_from_message, stamp_of
from rlt_ros.nodes.diagnostics import OK, REFEREE, WARN, Diagnostics, tell_basics
from rlt_ros.nodes.operator_client import Asker
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.operator.referee import Call, Referee
from rlt_ros.operator.rules import Rules, Sample
from rlt_ros.robot.config import load_robot
from rlt_ros.strict import load
from rlt_ros.types import PROPRIO_NAMES, PolicyMode

_AT = {name: i for i, name in enumerate(PROPRIO_NAMES)}


class RefereeNode(BaseNode):
    """Joins observation and word of the same id, asks the rules, presses what they call."""

    def __init__(self) -> None:
        super().__init__("referee")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        path = declare(self, "rules", "", "Rules (YAML), such as config/operator/referee.yaml.")
        if not path:
            raise ValueError("rules is empty: the referee needs a file of rules, such as config/operator/referee.yaml")
        rules = load(Rules, Path(path))
        self._referee = Referee(rules)
        help_text = "False: nothing is pressed; may be set at any time."
        self._enabled = declare(self, "enabled", True, help_text, on_set=self._on_enabled)
        self._scores: dict[str, tuple[float, float]] = {}
        self._observations: dict[int, msg.Observation] = {}
        self._words: dict[int, PolicyMode] = {}
        self._teleop = Asker(self)
        self._diagnostics = Diagnostics(self, self._robot.name)
        self._connect(rules)

    def _connect(self, rules: Rules) -> None:
        for topic in rules.topics:
            self.listen(Float32, topic, lambda m, topic=topic: self._on_score(topic, m), qos.SENSOR)
        self.listen_live(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.PolicyMode, "policy_mode", self._on_word, qos.STEP)
        self._say()
        self.every(1.0, self._on_second)

    def _on_score(self, topic: str, message: Float32) -> None:
        if not np.isfinite(message.data):
            raise ValueError(f"the score is {message.data}; expected a finite number")
        self._scores[topic] = (float(message.data), time.monotonic())

    def _on_observation(self, message: msg.Observation) -> None:
        if len(message.proprio) != len(PROPRIO_NAMES) or not np.isfinite(message.proprio).all():
            raise ValueError(f"proprio has {len(message.proprio)} values; expected {len(PROPRIO_NAMES)} finite ones")
        keep_newest(self._observations, message.id, message)
        self._look(message.id)

    def _on_word(self, message: msg.PolicyMode) -> None:
        keep_newest(self._words, message.observation_id, mode_from_message(message))
        self._look(message.observation_id)

    def _look(self, number: int) -> None:
        if number not in self._observations or number not in self._words:
            return
        observation, word = self._observations.pop(number), self._words.pop(number)
        if not self._enabled:
            return
        call = self._referee.look(self._sample(observation, word))
        if call is not None:
            self._teleop.press(call.request).add_done_callback(lambda done: self._on_answer(call, done))
        self._say()

    def _sample(self, observation: msg.Observation, word: PolicyMode) -> Sample:
        values, now = np.asarray(observation.proprio, np.float64), time.monotonic()
        turn = values[_AT["rx"] : _AT["rz"] + 1]
        sizes = {name: float(np.linalg.norm(values[_AT[first] :][:3])) for name, first in _SIZES.items()}
        return Sample(
            stamp=stamp_of(observation.header),
            episode=word.episode,
            phase=word.phase,
            phase_id=word.phase_id,
            mode=word.mode,
            pose=self._robot.reference.moved(values[_AT["x"] : _AT["z"] + 1], turn),
            turn=turn,
            gripper=float(values[_AT["gripper_width"]]),
            scores={topic: (value, now - at) for topic, (value, at) in self._scores.items()},
            **sizes,
        )

    def _on_answer(self, call: Call, done: Future[Answer]) -> None:
        answer, what = done.result(), f"{call.request.value} by rule {call.rule!r}"
        if answer.accepted:
            self.get_logger().info(f"{what}: {answer.message}")
        else:
            self.get_logger().warning(f"{what} was refused: {answer.message}")

    def _on_enabled(self, enabled: bool) -> None:
        self._enabled = enabled
        self._referee.rest()
        self._say()

    def _say(self) -> None:
        if not self._enabled:
            self._diagnostics.set(REFEREE, WARN, "off: a person begins and labels")
            return
        soon = f"about to press {self._referee.soon}" if self._referee.soon else "begins and labels by rules"
        self._diagnostics.set(REFEREE, OK, soon)

    def _on_second(self) -> None:
        tell_basics(self, self._diagnostics)
        self._diagnostics.publish()


_SIZES = {"force": "fx", "torque": "tx", "speed": "vx"}


def main() -> None:
    """Entry point."""
    run(RefereeNode)

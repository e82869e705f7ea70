"""The run log of the operator's node: what it hears, as episodes, pictures and latencies."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rclpy.node import Node

from rlt_ros import msg
from rlt_ros.loop.conductor import Word
from rlt_ros.loop.processes import Life
from rlt_ros.loop.run_log import Pictures, RunLog
from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.convert_robot import image_from_message
from rlt_ros.types import ExecutedStep, Phase


class RunLogTap:
    """Feeds a `RunLog`; without a run directory nothing is written. rate: control steps per second."""

    def __init__(self, node: Node, run_dir: Path, lockstep: bool, rate: float) -> None:
        self._node, self._lockstep = node, lockstep
        self._log = RunLog(run_dir, node.get_logger().error, pictures_of, rate) if run_dir.name else None
        self._life = life_of(node, run_dir)
        self._heard: tuple[int, float] | None = None
        self._observation: msg.Observation | None = None
        self._stepped: float | None = None
        self._phase_id = self._step = 0

    def observation(self, message: msg.Observation) -> None:
        """An observation came for the first time."""
        self._observation, self._heard = message, (message.id, time.monotonic())
        if self._log is not None and not self._lockstep:
            age = (self._node.get_clock().now().nanoseconds - stamp_of(message.header)) / 1e9
            self._log.took("observation_age", age)

    def executed(self, step: ExecutedStep) -> None:
        """A step was executed."""
        if self._log is None:
            return
        now = time.monotonic()
        if self._heard is not None and self._heard[0] == step.observation_id:
            self._log.took("response", now - self._heard[1])
            self._heard = None  # an answer that is repeated is not counted
            if self._stepped is not None:
                self._log.took("period", now - self._stepped)
            self._stepped = None if step.reset_done else now

    def said(self, word: Word) -> None:
        """The word for the newest observation was given."""
        if self._log is None:
            return
        for result in word.results:
            self._log.ended(result)
        if word.mode.phase is Phase.CRITICAL and self._observation is not None:
            if word.mode.phase_id != self._phase_id:
                self._phase_id, self._step = word.mode.phase_id, 0
            self._log.seen(self._step, self._observation)
            self._step += 1

    def close(self, exit_code: int | None) -> None:
        """The node ends; exit_code: None after a signal."""
        if self._log is not None:
            self._log.close()
        if self._life is not None:
            self._life.ended(how_it_ended(exit_code))


def life_of(node: Node, run_dir: Path) -> Life | None:
    """Tells in the run directory, if there is one, that a node has begun, with its parameters."""
    if not run_dir.name:
        return None
    values = {name: parameter.value for name, parameter in node.get_parameters_by_prefix("").items()}
    return Life(run_dir, node.get_name(), values)


def how_it_ended(exit_code: int | None) -> str:
    """In a few words; exit_code: None after a signal."""
    if exit_code is None:
        return "stopped from outside (Ctrl-C or a signal)"
    return "done" if exit_code == 0 else f"failed with exit code {exit_code}"


def pictures_of(message: msg.Observation) -> Pictures:
    """Pictures of an observation by camera. Raises BadMessage."""
    pictures: dict[str, np.ndarray] = {name: image_from_message(m) for name, m in zip(message.cameras, message.images)}
    return pictures

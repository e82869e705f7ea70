"""Rows for the tests, and a small task that only an agent that looks at z can solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.types import Driver, Features, Label, Transition

CONTRACT = "c0ffee"
DIMS = Dims(z=4, proprio=3, action=3)
"""Two dimensions for the policy, and a gripper, which is passed through."""


def small_config(**changes: object) -> AgentConfig:
    """A tiny agent without warm-up."""
    base = AgentConfig(
        chunk=4, passthrough=(2,), hidden=16, batch=8, critics=3, replay_capacity=512, warmup_episodes=0, warmup_rows=0,
        bc_pretrain_updates=0, gate_rows=0, gate_updates=0, gate_outcomes="none", actor_after=0,
        gate_reference_error=float("inf"), half_precision_z=False,
    )  # fmt: skip
    return replace(base, **changes)


def features(number: int, rng: np.random.Generator, horizon: int = 6) -> Features:
    """Random features of an observation."""
    return Features(
        id=number,
        stamp=number * 50,
        episode=0,
        step=number,
        z=rng.normal(size=DIMS.z).astype(np.float32),
        proprio=rng.normal(size=DIMS.proprio).astype(np.float32),
        reference=rng.uniform(-0.9, 0.9, (horizon, DIMS.action)).astype(np.float32),
    )


def rows(count: int, seed: int = 0, chunk: int = 4, phase: int = 8, stream: str = "s") -> list[Transition]:
    """So many rows of phases of `phase` rows each, every observation named by two rows; success and failure in turn.

    Row k of a phase runs from observation k to k + 1; the last one is terminated with half of a chunk executed.
    """
    rng = np.random.default_rng(seed)
    made, observation = [], 1
    for number in range(1, count + 1):
        k = (number - 1) % phase
        last = k == phase - 1
        number_of_phase = 1 + (number - 1) // phase
        label = Label.SUCCESS if number_of_phase % 2 else Label.FAILURE
        horizon = chunk // 2 if last else chunk
        carried = [] if k else [features(observation, rng, chunk + 2)]
        if not last:
            carried.append(features(observation + 1, rng, chunk + 2))
        rewards = np.zeros(chunk, np.float32)
        rewards[horizon - 1] = last and label == Label.SUCCESS
        actions = rng.uniform(-1, 1, (chunk, DIMS.action)).astype(np.float32)
        actions[horizon:] = 0.0
        made.append(
            Transition(
                id=number, stream=stream, episode=number_of_phase, phase_id=number_of_phase, step=k * chunk,
                features_id=observation, next_features_id=0 if last else observation + 1, actions=actions,
                drivers=rng.choice([Driver.VLA, Driver.ACTOR, Driver.HUMAN], chunk).astype(np.uint8), rewards=rewards,
                valid_horizon=horizon, terminated=last, truncated=False, label=label,
                steps_to_end=(phase - 1 - k) * chunk + chunk // 2, weights_version=0, last_of_phase=last,
                features=tuple(carried),
            )
        )  # fmt: skip
        observation += 1
    return made


@dataclass
class Insertion:
    """A point that must find a hole of radius 0.3 within 20 steps; one action moves it by 0.3.

    Where the hole is stands in z alone, turned and stretched; proprio is the point's position. The reference steers to
    a spot beside the hole, off by a systematic error as large as the hole and by one that changes with the episode.
    """

    rng: np.random.Generator
    limit: int = 20
    radius: float = 0.3
    step: float = 0.3

    def __post_init__(self) -> None:
        self._mix = np.linalg.qr(np.random.default_rng(99).normal(size=(4, 4)))[0][:, :2]
        self.reset()

    def reset(self) -> None:
        """The next episode."""
        self.hole = self.rng.uniform(-1.0, 1.0, 2)
        self.point = self.hole + self.rng.uniform(-2.5, 2.5, 2)
        self._error = np.array([0.38, -0.19]) + self.rng.normal(0.0, 0.15, 2)
        self.steps = 0

    @property
    def inside(self) -> bool:
        """The point is in the hole."""
        return bool(np.linalg.norm(self.point - self.hole) < self.radius)

    def observe(self, number: int, chunk: int) -> Features:
        """Features, the reference being the way to the spot that the demonstrator takes for the hole."""
        way = (self.hole + self._error - self.point) / self.step
        reference = np.zeros((chunk, 3), np.float32)
        for i in range(chunk):
            reference[i, :2] = np.clip(way, -0.9, 0.9)
            way = way - reference[i, :2]
        reference[:, 2] = -1.0
        z = self._mix @ self.hole + self.rng.normal(0.0, 0.02, 4)
        proprio = np.array([*self.point, 0.0], np.float32)
        return Features(number, 0, 0, self.steps, z.astype(np.float32), proprio, reference)

    def act(self, action: np.ndarray) -> None:
        """One control step."""
        self.point = self.point + self.step * np.clip(action[:2], -1.0, 1.0)
        self.steps += 1

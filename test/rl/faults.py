"""Learners with one fault each, trained for real on recorded phases of `synthetic.Insertion`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from practice import Practice
from synthetic import CONTRACT, DIMS

from rlt_ros.rl.alarms import AlarmLimits
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner
from rlt_ros.types import Transition

CONFIG = AgentConfig(
    chunk=4, passthrough=(2,), hidden=32, batch=32, warmup_rows=100, bc_pretrain_updates=200, actor_after=50,
    gate_rows=100, gate_updates=100, replay_capacity=5000, seed=2,
)  # fmt: skip
LIMITS = AlarmLimits(alarm_min_updates=300)
Fault = Callable[[Transition], Transition]


def recorded(noise: float = 0.1, episodes: int = 40) -> list[Transition]:
    """Rows of the reference with held noise, a third of the phases successful."""
    practice = Practice(CONFIG, seed=12)
    return [row for _ in range(episodes) for row in practice.episode(None, noise)[1]]


def trained(rows: list[Transition], updates: int = 500, limits: AlarmLimits = LIMITS, **changes: object) -> Learner:
    """A learner after pre-training and so many critic updates."""
    config = replace(CONFIG, **changes)
    learner = Learner(config, DIMS, CONTRACT, 5.0, limits=limits)
    learner.add(rows)
    learner.train(config.bc_pretrain_updates + updates)
    return learner


def without_reward(row: Transition) -> Transition:
    """The success flag never reaches the rows (`method.md` C.12d)."""
    return replace(row, rewards=np.zeros_like(row.rewards))


def failure_rewarded(row: Transition) -> Transition:
    """Whatever ends a phase earns the reward."""
    rewards = np.zeros_like(row.rewards)
    rewards[row.valid_horizon - 1] = row.terminated
    return replace(row, rewards=rewards)


def unseen(row: Transition) -> Transition:
    """z and proprio show nothing, so that only the reference can be copied."""
    blank = tuple(replace(f, z=np.zeros_like(f.z), proprio=np.zeros_like(f.proprio)) for f in row.features)
    return replace(row, features=blank)

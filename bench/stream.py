"""Rows one at a time, so that nobody but the replay holds them: phases of 2 to 5 seconds at 20 Hz, cut at stride 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.types import Driver, Features, Label, Transition

STEPS = (40, 100)
"""Least and most control steps of a phase."""


def stream(config: AgentConfig, dims: Dims, seed: int = 0) -> Iterator[Transition]:
    """Rows without end; every observation is named by the windows that begin and end with it."""
    rng = np.random.default_rng(seed)
    number = observation = 0
    while True:
        steps = int(rng.integers(*STEPS))
        carried: set[int] = set()
        starts = range(0, steps - 1, config.stride)
        for start in starts:
            number += 1
            valid = min(config.chunk, steps - start)
            ended = start + valid == steps
            ids = [observation + start + 1, *([] if ended else [observation + start + valid + 1])]
            new = tuple(_features(config, dims, rng, i) for i in ids if i not in carried)
            carried.update(ids)
            yield _row(config, dims, rng, number, ids, valid, steps - start, start == starts[-1], new)
        observation += steps


def _row(
    config: AgentConfig,
    dims: Dims,
    rng: np.random.Generator,
    number: int,
    ids: list[int],
    valid: int,
    left: int,
    last: bool,
    new: tuple[Features, ...],
) -> Transition:
    ended = len(ids) == 1
    actions = rng.uniform(-1.0, 1.0, (config.chunk, dims.action)).astype(np.float32)
    rewards = np.zeros(config.chunk, np.float32)
    rewards[valid - 1] = ended
    drivers = np.full(config.chunk, Driver.ACTOR, np.uint8)
    return Transition(
        id=number, stream="bench", episode=0, phase_id=1, step=0, features_id=ids[0],
        next_features_id=0 if ended else ids[1], actions=actions, drivers=drivers, rewards=rewards, valid_horizon=valid,
        terminated=ended, truncated=False, label=Label.SUCCESS, steps_to_end=left, weights_version=0,
        last_of_phase=last, features=new,
    )  # fmt: skip


def _features(config: AgentConfig, dims: Dims, rng: np.random.Generator, number: int) -> Features:
    z = rng.standard_normal(dims.z, np.float32)
    proprio = rng.standard_normal(dims.proprio, np.float32)
    reference = rng.uniform(-0.9, 0.9, (2 * config.chunk, dims.action)).astype(np.float32)
    return Features(number, 0, 0, 0, z, proprio, reference)

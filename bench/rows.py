"""Rows to learn from: noise in the shapes of a real run, phases of 1 to 5 seconds at 20 Hz cut into windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import torch

from bench.plain import Batch
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.types import Driver, Features, Label, Transition

STEPS = (20, 100)
"""Least and most control steps of a phase."""


def stream(config: AgentConfig, dims: Dims, steps: tuple[int, int] = STEPS, seed: int = 0) -> Iterator[Transition]:
    """Rows of phases without end, one at a time; success and failure in turn, a person now and then."""
    rng, first = np.random.default_rng(seed), 1
    while True:
        label = Label.SUCCESS if rng.random() < 0.5 else Label.FAILURE
        for row in _phase(config, dims, rng, first, int(rng.integers(*steps)), label):
            yield row
        first = row.id + 1


def transitions(config: AgentConfig, dims: Dims, count: int) -> list[Transition]:
    """So many of them, the last phase cut off."""
    return list(islice(stream(config, dims), count))


def plain_rows(rows: list[Transition], gamma: float) -> Batch:
    """The same rows as float32 tensors, every row with its own copy of the features that it names."""
    known = {features.id: features for row in rows for features in row.features}
    found = [columns(row, known, gamma) for row in rows]
    return {name: torch.from_numpy(np.stack([c[name] for c in found])) for name in found[0]}


def _phase(
    config: AgentConfig, dims: Dims, rng: np.random.Generator, row: int, steps: int, label: Label
) -> Iterator[Transition]:
    starts = range(0, steps - 1, config.stride)
    carried: set[int] = set()
    for i, start in enumerate(starts):
        valid = min(config.chunk, steps - start)
        ended = start + valid == steps
        named = [_id(row, start), *([] if ended else [_id(row, start + valid)])]
        rewards = np.zeros(config.chunk, np.float32)
        rewards[valid - 1] = ended and label == Label.SUCCESS
        actions = rng.uniform(-1.0, 1.0, (config.chunk, dims.action)).astype(np.float32)
        actions[valid:] = 0.0
        yield Transition(
            id=row + i, stream="bench", episode=row, phase_id=row, step=start, features_id=named[0],
            next_features_id=0 if ended else named[1], actions=actions,
            drivers=rng.choice([Driver.ACTOR, Driver.ACTOR, Driver.HUMAN], config.chunk).astype(np.uint8),
            rewards=rewards, valid_horizon=valid, terminated=ended, truncated=False, label=label,
            steps_to_end=steps - start, weights_version=0, last_of_phase=start == starts[-1],
            features=tuple(_features(config, dims, rng, each) for each in named if each not in carried),
        )  # fmt: skip
        carried.update(named)


def _id(row: int, step: int) -> int:
    return row * 2 * STEPS[1] + step + 1


def _features(config: AgentConfig, dims: Dims, rng: np.random.Generator, number: int) -> Features:
    # Rounded to half precision here, so that both replays hold the same numbers.
    z = rng.normal(size=dims.z).astype(np.float16).astype(np.float32)
    proprio = rng.normal(size=dims.proprio).astype(np.float32)
    # Longer than the chunk, as a VLA's is.
    reference = rng.uniform(-0.9, 0.9, (2 * config.chunk, dims.action)).astype(np.float32)
    return Features(id=number, stamp=0, episode=0, step=0, z=z, proprio=proprio, reference=reference)


def columns(row: Transition, known: Mapping[int, Features], gamma: float) -> dict[str, np.ndarray]:
    """A row as a plain replay keeps it, float32, with its own copy of what it names among the known features."""
    first = known[row.features_id]
    following = first if row.terminated else known[row.next_features_id]
    chunk = len(row.rewards)
    valid = np.arange(chunk) < row.valid_horizon
    mc_return = gamma ** (row.steps_to_end - 1) if row.label == Label.SUCCESS else 0.0
    return {
        "state": np.concatenate([first.z, first.proprio]),
        "next_state": np.concatenate([following.z, following.proprio]),
        "reference": first.reference[:chunk],
        "next_reference": following.reference[:chunk],
        "action": row.actions,
        "human": (valid & (row.drivers == Driver.HUMAN)).astype(np.float32),
        "valid": valid.astype(np.float32),
        "rewards": row.rewards,
        "horizon": np.float32(row.valid_horizon),
        "terminated": np.float32(row.terminated),
        "mc_return": np.float32(mc_return),
    }

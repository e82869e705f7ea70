"""The ablation without z_rl: neither the batches that are learned from nor the policy on the robot may see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import CONTRACT, DIMS, features, rows, small_config

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.policy import PolicyNet
from rlt_ros.rl.replay import Batch, Replay
from rlt_ros.tensor import torch


def sampled(use_z: bool) -> Batch:
    replay = Replay(small_config(use_z=use_z), DIMS)
    for row in rows(32):
        replay.add(row)
    return replay.sample(16, torch.Generator().manual_seed(0))


def chunk(use_z: bool, z: np.ndarray, evaluation: bool) -> np.ndarray:
    agent = Agent(small_config(use_z=use_z), DIMS)
    policy = PolicyNet(agent.config, DIMS, 1, CONTRACT, agent.actor, agent.ema)
    return policy.act(replace(features(1, np.random.default_rng(0)), z=z), evaluation)


def test_without_z_batches_hold_zeros_in_its_place_and_all_else_as_with_it() -> None:
    with_z, without = sampled(True), sampled(False)
    for name in ("state", "next_state"):
        full, blind = getattr(with_z, name), getattr(without, name)
        assert full[:, : DIMS.z].abs().min() > 0 and not blind[:, : DIMS.z].any()
        torch.testing.assert_close(full[:, DIMS.z :], blind[:, DIMS.z :], rtol=0, atol=0)
    torch.testing.assert_close(with_z.reference, without.reference, rtol=0, atol=0)


@pytest.mark.parametrize("evaluation", [False, True])
def test_without_z_the_policy_does_the_same_whatever_z_says(evaluation: bool) -> None:
    one, other = np.full(DIMS.z, 0.5, np.float32), np.full(DIMS.z, -2.0, np.float32)
    np.testing.assert_array_equal(chunk(False, one, evaluation), chunk(False, other, evaluation))
    assert not np.array_equal(chunk(True, one, evaluation), chunk(True, other, evaluation))
    np.testing.assert_array_equal(chunk(False, one, evaluation), chunk(True, np.zeros_like(one), evaluation))

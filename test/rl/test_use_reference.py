"""The ablation without reference pass-through: the actor never sees the reference, and is drawn to it all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import CONTRACT, DIMS, features, rows, small_config

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.policy import PolicyNet
from rlt_ros.rl.replay import Replay
from rlt_ros.tensor import torch

PASSED = 2  # the dimension that small_config passes through


def chunk(use_reference: bool, reference: np.ndarray, evaluation: bool) -> np.ndarray:
    agent = Agent(small_config(use_reference=use_reference), DIMS)
    policy = PolicyNet(agent.config, DIMS, 1, CONTRACT, agent.actor, agent.ema)
    return policy.act(replace(features(1, np.random.default_rng(0)), reference=reference), evaluation)


@pytest.mark.parametrize("evaluation", [False, True])
def test_the_actor_does_the_same_whatever_the_reference_says_but_for_the_gripper(evaluation: bool) -> None:
    shape = features(1, np.random.default_rng(0)).reference.shape
    one, other = np.full(shape, 0.5, np.float32), np.full(shape, -0.5, np.float32)
    blind = [chunk(False, reference, evaluation) for reference in (one, other)]
    np.testing.assert_array_equal(blind[0][:, :PASSED], blind[1][:, :PASSED])
    assert (blind[0][:, PASSED] == 0.5).all() and (blind[1][:, PASSED] == -0.5).all()
    assert not np.array_equal(chunk(True, one, evaluation)[:, :PASSED], chunk(True, other, evaluation)[:, :PASSED])


def test_it_is_drawn_to_the_reference_all_the_same() -> None:
    agent = Agent(small_config(use_reference=False, reference_dropout=0.0), DIMS)
    replay = Replay(agent.config, DIMS)
    for row in rows(32):
        replay.add(row)
    batch = replay.sample(16, torch.Generator().manual_seed(0))
    losses = [float(agent.pretrain(batch)) for _ in range(200)]
    assert losses[-1] < 0.8 * losses[0]


def test_a_residual_actor_cannot_do_without() -> None:
    with pytest.raises(ValueError, match="use_reference is False; expected true with a residual actor"):
        small_config(use_reference=False, actor_form="residual", reference_dropout=0.0)

"""The baseline that imitates what succeeded: failures, aborts and what lies beyond a horizon teach it nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from synthetic import DIMS, rows, small_config

from rlt_ros.rl import losses
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.replay import Batch, Replay
from rlt_ros.tensor import torch
from rlt_ros.types import Label

CLONE = {"bc_target": "success", "q_weight": 0.0, "bc_beta": 1.0, "reference_dropout": 0.0}


def batch(agent: Agent) -> Batch:
    replay = Replay(agent.config, DIMS)
    for row in rows(32):
        replay.add(row)
    return replay.sample(16, torch.Generator().manual_seed(0))


def test_steps_of_successes_and_of_a_person_count() -> None:
    valid = torch.tensor([[1.0, 1.0, 0.0]] * 4)
    human = torch.zeros(4, 3)
    human[3, 0] = 1.0
    steps = losses.of_success(human, valid, torch.tensor([0.9, 0.0, float("nan"), 0.0]))
    assert steps.tolist() == [[1.0, 1.0, 0.0], [0.0] * 3, [0.0] * 3, [1.0, 0.0, 0.0]]


def test_the_actor_comes_to_do_what_succeeded_and_ignores_what_failed() -> None:
    agent = Agent(small_config(**CLONE, learning_rate=3e-3), DIMS)
    drawn = batch(agent)
    good = torch.arange(16) % 2 == 0
    action = torch.where(good.view(-1, 1, 1), torch.full_like(drawn.action, 0.4), torch.full_like(drawn.action, -0.9))
    drawn = replace(
        drawn,
        state=torch.zeros_like(drawn.state),
        reference=torch.zeros_like(drawn.reference),
        action=action,
        human=torch.zeros_like(drawn.human),
        mc_return=good.float(),
        valid=torch.ones_like(drawn.valid),
    )
    for _ in range(300):
        agent.update(drawn)
    chunk = agent.actor(drawn.state, agent.policy_part(drawn.reference)).detach().numpy()
    np.testing.assert_allclose(chunk, 0.4, atol=0.1)


def test_by_default_everything_is_drawn_to_the_reference() -> None:
    agent = Agent(small_config(), DIMS)
    wanted, steps = agent.imitated(batch(agent))
    assert steps is None and wanted.shape == (16, 4, 2)


def test_synthetic_rows_have_failures_too() -> None:
    assert {row.label for row in rows(32)} >= {Label.SUCCESS, Label.FAILURE}

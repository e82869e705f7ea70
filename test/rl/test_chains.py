"""Values of two- and three-state chains, computed by hand, through the agent's target and through learning.

The residual actor starts as the reference and every action here is the reference: so the next action is known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from synthetic import CONTRACT, DIMS, small_config

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.replay import Batch, Replay
from rlt_ros.types import Driver, Features, Label, Transition

GAMMA = 0.9
CONFIG = small_config(
    gamma=GAMMA, batch=4, hidden=32, actor_form="residual", reference_dropout=0.0, target_noise=0.0, actor_after=10**9,
    learning_rate=2e-3, tau=0.05, utd=0,
)  # fmt: skip
"""The actor never learns, so it stays the reference."""


def state(number: int) -> Features:
    """Observation `number`: a direction of z and a reference of its own."""
    z, level = np.zeros(4, np.float32), 0.2 * number - 0.5
    z[(number - 1) % 4] = 3.0
    return Features(number, 0, 0, 0, z, np.zeros(3, np.float32), np.full((4, 3), level, np.float32))


def row(number: int, start: int, end: int, horizon: int, label: Label, reward: float = 0.0, **changes) -> Transition:
    """`horizon` steps from observation `start`, driven by the reference, to `end` (0: an outcome)."""
    valid = np.arange(4) < horizon
    rewards = np.zeros(4, np.float32)
    rewards[horizon - 1] = reward
    made = Transition(
        id=number, stream="s", episode=1, phase_id=1, step=0, features_id=start, next_features_id=end,
        actions=state(start).reference * valid[:, None], drivers=np.full(4, Driver.VLA, np.uint8), rewards=rewards,
        valid_horizon=horizon, terminated=end == 0, truncated=False, label=label, steps_to_end=horizon,
        weights_version=0, features=tuple(state(i) for i in (start, end) if i),
    )  # fmt: skip
    return replace(made, **changes)


TWO = [
    row(1, 1, 2, 4, Label.SUCCESS, steps_to_end=6),
    row(2, 2, 0, 2, Label.SUCCESS, reward=1.0),
]
"""A goes to B in a whole chunk, B succeeds in its second step: V(B) = gamma, V(A) = gamma^5."""
THREE = [
    row(1, 1, 2, 4, Label.ABORT, steps_to_end=6),
    row(2, 2, 3, 2, Label.ABORT, truncated=True),
    row(3, 3, 0, 1, Label.SUCCESS, reward=1.0),
    row(4, 4, 0, 3, Label.FAILURE),
]
"""A to B, B cut off after two steps at C, C succeeds at once; D fails: 1, gamma^2, gamma^6 and 0."""


def batch_of(rows: list[Transition], config=CONFIG) -> tuple[Agent, Batch]:
    """The rows themselves, each once and in their order."""
    replay = Replay(config, DIMS)
    for each in rows:
        assert replay.add(each)
    return Agent(config, DIMS), replay._gather(torch.arange(len(rows)))


def constant_target(agent: Agent, values: list[float]) -> None:
    agent.target.head_weight.zero_()
    agent.target.head_bias.copy_(torch.tensor(values)[:, None])


def test_targets_of_the_two_state_chain():
    agent, batch = batch_of(TWO)
    constant_target(agent, [0.5, 0.5, 0.5])
    assert agent.target_values(batch).tolist() == pytest.approx([GAMMA**4 * 0.5, GAMMA])


def test_targets_of_the_three_state_chain():
    """A whole chunk, a short one that bootstraps with gamma to its own steps, a success, a failure."""
    agent, batch = batch_of(THREE)
    constant_target(agent, [0.5, 0.5, 0.5])
    assert agent.target_values(batch).tolist() == pytest.approx([GAMMA**4 * 0.5, GAMMA**2 * 0.5, 1.0, 0.0])


def test_the_target_asks_for_the_next_state_and_the_policy_on_the_next_reference():
    """With every term in reach of one number: the value is that of exactly this pair."""
    agent, batch = batch_of(TWO, replace(CONFIG, target_critics=3, q_low=-10.0, q_high=10.0))
    following = state(2)
    x = torch.from_numpy(np.concatenate([following.z, following.proprio]))[None]
    value = agent.target(x, torch.from_numpy(following.reference[None, :, :2])).min()
    assert agent.target_values(batch)[0].item() == pytest.approx((GAMMA**4 * value).item(), rel=1e-4)


def test_with_bootstrap_always_an_outcome_does_not_end_the_value():
    rows = [replace(TWO[1], next_features_id=3, features=(state(2), state(3))), *(THREE[:2])]
    rows = [replace(r, id=i + 1) for i, r in enumerate(rows)]
    for kind, first in (("always", GAMMA + GAMMA**2 * 0.5), ("standard", GAMMA)):
        agent, batch = batch_of(rows, replace(CONFIG, bootstrap_type=kind, q_high=2.0))
        constant_target(agent, [0.5, 0.5, 0.5])
        assert agent.target_values(batch).tolist() == pytest.approx([first, GAMMA**4 * 0.5, GAMMA**2 * 0.5])
        assert torch.equal(batch.next_state[0], torch.tensor([0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("rows", "values"),
    [(TWO, [GAMMA**5, GAMMA]), (THREE, [GAMMA**6, GAMMA**2, 1.0, 0.0])],
    ids=["two states", "three states"],
)
def test_learning_converges_to_the_values_of_the_chain(rows, values):
    """From the rows alone, through sampling, targets, optimiser and the trailing average of the critics."""
    learner = Learner(CONFIG, DIMS, CONTRACT, 5.0)
    often = [replace(r, id=len(rows) * i + r.id) for i in range(8) for r in rows]
    learner.add(often)
    learner.budget.debt = 500
    assert learner.train(500) == 500
    agent, batch = learner.agent, learner.replay._gather(torch.arange(len(rows)))
    assert agent.q(batch).mean(dim=0).tolist() == pytest.approx(values, abs=0.04)

"""The agent learns: from missing the hole more often than not to finding it, through the learner's whole path."""

from __future__ import annotations

from dataclasses import replace

import pytest
from practice import Practice, practise
from synthetic import CONTRACT, DIMS

from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner

ABSOLUTE = AgentConfig(
    chunk=4, passthrough=(2,), hidden=64, warmup_rows=128, bc_pretrain_updates=400, actor_after=200, gate_rows=100,
    gate_updates=200, replay_capacity=5000, seed=2,
)  # fmt: skip
RESIDUAL = replace(
    ABSOLUTE, actor_form="residual", residual_limit=0.5, reference_dropout=0.0, bc_pretrain_updates=0
)  # fmt: skip


BFLOAT16 = replace(ABSOLUTE, precision="bfloat16")


@pytest.mark.parametrize(
    ("config", "least"),
    [(ABSOLUTE, 0.85), (RESIDUAL, 0.75), (BFLOAT16, 0.75)],
    ids=["absolute", "residual", "bfloat16"],
)
def test_from_half_to_nearly_always(config, least):
    """Two seeds each gave 0.98 and 0.92 with the absolute form, 0.80 and 0.96 with corrections of up to 0.5.

    Five seeds gave 0.78 to 0.99, mean 0.92, in float32 and 0.84 to 0.99, mean 0.92, with bfloat16 multiplications.
    """
    learner = Learner(config, DIMS, CONTRACT, 5.0)
    base = Practice(config, seed=100).evaluate(None, 150)
    policy = practise(learner, Practice(config, seed=12), episodes=150)
    learned = Practice(config, seed=100).evaluate(policy, 150)
    stats = learner.stats()
    assert base <= 0.5
    assert learned >= least
    assert stats.update_debt == 0 and stats.critic_updates == 5 * stats.rows_received
    assert stats.alarm_q == 0.0

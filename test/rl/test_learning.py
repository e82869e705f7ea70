"""The agent learns: from missing the hole more often than not to finding it, through the learner's whole path."""

from __future__ import annotations

from practice import Practice, practise
from synthetic import CONTRACT, DIMS

from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner

CONFIG = AgentConfig(
    chunk=4, passthrough=(2,), hidden=64, warmup_rows=128, bc_pretrain_updates=400, actor_after=200, gate_rows=100,
    gate_updates=200, replay_capacity=5000, seed=2,
)  # fmt: skip


def test_from_half_to_nearly_always():
    learner = Learner(CONFIG, DIMS, CONTRACT, 5.0)
    base = Practice(CONFIG, seed=100).evaluate(None, 150)
    policy = practise(learner, Practice(CONFIG, seed=12), episodes=150)
    learned = Practice(CONFIG, seed=100).evaluate(policy, 150)
    stats = learner.stats()
    assert base <= 0.5
    assert learned >= 0.85
    assert stats.update_debt == 0 and stats.critic_updates == 5 * stats.rows_received
    assert stats.alarm_q == 0.0

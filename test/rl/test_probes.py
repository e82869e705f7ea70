"""What the probes say is what it is, they change nothing, and they cost little."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl import losses, probes
from rlt_ros.rl.actor_terms import actor_terms
from rlt_ros.rl.config import Dims
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.probes import Probes, Scale, probe
from rlt_ros.types import Label

WIDE = Dims(z=4, proprio=3, action=7)


def taught(updates: int = 100, **changes: object) -> Learner:
    learner = Learner(small_config(**changes), DIMS, CONTRACT, 5.0)
    learner.add(rows(64))
    learner.train(updates)
    return learner


def measured(learner: Learner, count: int = 32) -> Probes:
    generator = torch.Generator().manual_seed(0)
    batch = learner.replay.sample(count, generator)
    return probe(learner.agent, batch, Scale(5.0, 0.05), generator)


def test_looking_changes_nothing_of_learning():
    watched, alone = taught(0), taught(0)
    for _ in range(6):
        watched.train(20)
        watched.stats()
        alone.train(20)
    for name, tensor in alone.state()[0].items():
        assert torch.equal(watched.state()[0][name], tensor), name
    assert all(p.grad is None for p in watched.agent.actor.parameters())


def test_the_same_state_looks_the_same():
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0, clock=lambda: 7.0)
    learner.add(rows(64))
    learner.train(100)
    assert str(learner.stats()) == str(learner.stats())


def test_a_look_costs_no_more_than_a_few_updates():
    learner, judged = taught(replay_capacity=2000), []
    learner.add(rows(1000, stream="t"))
    for critic in (learner.agent.critic, learner.agent.target):
        critic.register_forward_pre_hook(lambda module, inputs: judged.append(len(inputs[0])))
    learner.stats()
    few = probes.SLOPE_ROWS
    assert sum(judged) <= 4 * probes.PROBE_ROWS + (probes.PROBE_ACTIONS + 3) * few


def test_q_is_measured_against_what_was_earned():
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    learner.add(rows(64))
    batch = learner.replay.sample(32, torch.Generator().manual_seed(0))
    learner.agent.q = lambda batch: torch.stack([2.0 * batch.mc_return, 2.0 * batch.mc_return + 0.2])
    found = probes.values(learner.agent, batch)
    earned = batch.mc_return
    assert found["q_return_correlation"] == pytest.approx(1.0)
    assert found["q_return_error"] == pytest.approx(float(earned.mean()) + 0.1)
    assert found["q_disagreement"] == pytest.approx(0.1)
    assert found["q_gap"] == pytest.approx(2.0 * float(earned[earned > 0].mean()))
    assert found["q_max"] == pytest.approx(2.0 * float(earned.max()) + 0.1)


def test_aborted_phases_have_no_return_to_disagree_with():
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    learner.add([replace(row, label=Label.ABORT, terminated=False, truncated=False) for row in rows(7)])
    assert math.isnan(learner.stats().q_return_error) and math.isnan(learner.stats().q_gap)


def test_correlation_is_pearsons():
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(50, generator=generator), torch.randn(50, generator=generator)
    assert probes.correlation(a, b) == pytest.approx(float(np.corrcoef(a, b)[0, 1]), abs=1e-6)
    assert math.isnan(probes.correlation(a, torch.ones(50)))


def test_residual_is_in_millimetres_and_radians_of_its_own_dimensions():
    learner = Learner(small_config(passthrough=(6,)), WIDE, CONTRACT, 5.0)
    residual = torch.zeros(2, 4, 6)
    residual[0, 0, :3] = torch.tensor([0.3, 0.0, 0.4])
    residual[1, 2, 3:] = torch.tensor([0.0, 0.2, 0.0])
    found = probes.residuals(learner.agent, residual, Scale(5.0, 0.05))
    assert found["residual_mm_max"] == pytest.approx(2.5) and found["residual_mm"] == pytest.approx(2.5 / 8)
    assert found["residual_rad_max"] == pytest.approx(0.01) and found["residual_rad"] == pytest.approx(0.01 / 8)


def test_what_is_not_known_is_not_reported_as_nought():
    learner = taught(10)
    stats = learner.stats()
    assert math.isnan(stats.residual_rad) and math.isnan(stats.actor_loss) is False
    assert math.isnan(Learner(small_config(), DIMS, CONTRACT, 5.0).stats().critic_grad_norm)


def test_an_actor_that_is_the_reference_has_no_advantage_and_no_residual():
    learner = taught()
    actor = learner.agent.actor
    actor.forward = lambda state, reference: reference + 0.0 * sum(p.sum() for p in actor.parameters())
    found = measured(learner)
    assert found.q_advantage == pytest.approx(0.0, abs=1e-7)
    assert found.reference_error == pytest.approx(0.0) and found.residual_mm_max == pytest.approx(0.0)


def test_weighted_terms_are_those_of_the_actor_loss_in_expectation_over_dropout():
    learner = taught(reference_dropout=0.25, bc_beta=0.3)
    agent, generator = learner.agent, torch.Generator().manual_seed(0)
    batch = learner.replay.sample(32, generator)
    reference = agent.policy_part(batch.reference)
    wanted = losses.bc_target(reference, agent.policy_part(batch.action), batch.human)
    bc, q = 0.0, 0.0
    for share, seen in ((0.75, reference), (0.25, torch.zeros_like(reference))):
        chunk = agent.actor(batch.state, seen)
        bc += share * float(losses.bc_loss(chunk, wanted).detach())
        q += share * float(agent.q_of(batch, chunk).detach().mean())
    found = actor_terms(agent, batch)
    assert found["weighted_bc"] == pytest.approx(0.3 * bc, rel=1e-5)
    assert found["weighted_q"] == pytest.approx(q, rel=1e-5)
    human = float(batch.human.mean())
    mixed = human * found["bc_human_loss"] + (1.0 - human) * found["bc_ref_loss"]
    assert mixed == pytest.approx(bc, rel=1e-5)


def test_pull_is_where_q_and_bc_would_hold_each_other():
    learner = taught(bc_beta=0.5)
    slope = 0.3
    learner.agent.q_of = lambda batch, chunk: slope * chunk.sum(dim=(1, 2)).expand(3, -1)
    assert measured(learner).q_pull == pytest.approx(slope / (2.0 * 0.5))


def test_gradients_of_the_two_terms_oppose_each_other_where_q_wants_what_bc_forbids():
    learner = Learner(small_config(reference_dropout=0.0), DIMS, CONTRACT, 5.0)
    learner.add([replace(row, drivers=0 * row.drivers) for row in rows(64)])
    agent = learner.agent
    for sign in (1.0, -1.0):
        agent.q_of = lambda batch, chunk, sign=sign: (
            sign * losses.bc_loss(chunk, agent.policy_part(batch.reference)).expand(3, len(chunk))
        )
        assert measured(learner).bc_q_cosine == pytest.approx(-sign, abs=1e-4)


def test_noise_is_told_in_millimetres():
    stats = taught(10, rollout_noise=0.1, target_noise=0.04).stats()
    assert stats.rollout_noise_mm == pytest.approx(0.5) and stats.target_noise_mm == pytest.approx(0.2)


def test_age_of_the_weights_counts_updates_and_seconds():
    times = iter([0.0, 5.0, 8.0, 9.0])
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0, clock=lambda: next(times))
    assert math.isnan(learner.stats().weights_age)
    learner.add(rows(32))
    learner.train(20)
    learner.weights()
    assert learner.stats().weights_age == 0.0
    learner.train(6)
    stats = learner.stats()
    assert (stats.weights_age, stats.weights_age_updates) == (1.0, 6)


def test_gradient_norm_is_the_one_before_clipping():
    clipped, free = taught(4, grad_clip=1e-3).stats(), taught(4, grad_clip=1e6).stats()
    assert clipped.critic_grad_norm > 1.0 and free.critic_grad_norm > 1.0


def test_forgone_updates_and_evicted_rows_are_told():
    learner = Learner(small_config(max_debt=100, replay_capacity=16), DIMS, CONTRACT, 5.0)
    learner.add(rows(40))
    stats = learner.stats()
    assert (stats.rows, stats.rows_evicted, stats.update_debt, stats.updates_forgone) == (16, 24, 100, 100)

"""The residual form, noise in training, ramped weights, and an actor out of another run's file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from synthetic import CONTRACT, DIMS, features, rows, small_config

from rlt_ros.rl import losses
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.checkpoint import resume, save_checkpoint
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.networks import Actor
from rlt_ros.rl.replay import Batch, Replay
from rlt_ros.rl.weights import WeightsError, load_policy, write_policy_file

RESIDUAL = {"actor_form": "residual", "residual_limit": 0.25, "reference_dropout": 0.0}


def batch_of(config) -> Batch:
    replay = Replay(config, DIMS)
    for row in rows(64):
        replay.add(row)
    return replay.sample(config.batch, torch.Generator().manual_seed(0))


def agent_and_batch(**changes) -> tuple[Agent, Batch]:
    config = small_config(**{"q_low": -10.0, "q_high": 10.0} | changes)
    return Agent(config, DIMS), batch_of(config)


def learner(**changes) -> Learner:
    return Learner(small_config(**changes), DIMS, CONTRACT, 5.0)


# residual form


def test_the_residual_actor_begins_as_the_reference_and_the_absolute_one_does_not():
    agent, batch = agent_and_batch(**RESIDUAL)
    reference = agent.policy_part(batch.reference)
    assert torch.equal(agent.actor(batch.state, reference), reference)
    assert torch.equal(agent.ema(batch.state, reference), reference)
    absolute, _ = agent_and_batch()
    assert not torch.allclose(absolute.actor(batch.state, reference), reference, atol=0.1)


def test_the_residual_is_the_limit_times_the_tanh_of_the_network():
    agent, batch = agent_and_batch(**RESIDUAL)
    with torch.no_grad():
        agent.actor.biases[-1].fill_(0.4)
    reference = 0.5 * agent.policy_part(batch.reference)
    torch.testing.assert_close(agent.actor(batch.state, reference), reference + 0.25 * np.tanh(0.4))
    assert agent.actor(batch.state, torch.ones_like(reference)).max() == 1.0


def test_the_residual_actor_stays_within_its_limit_and_within_the_action_space():
    agent, batch = agent_and_batch(**RESIDUAL)
    with torch.no_grad():
        agent.actor.weights[-1].fill_(1e3)
    reference = agent.policy_part(batch.reference)
    chunk = agent.actor(1e3 * batch.state, reference)
    assert (chunk - reference).abs().max() <= 0.25 + 1e-6 and chunk.abs().max() <= 1.0


def test_a_correction_beyond_the_bounds_finds_its_way_back():
    """A gradient that ended at the bound would leave the actor there for good."""
    actor = Actor(small_config(**RESIDUAL), DIMS, torch.Generator().manual_seed(0))
    with torch.no_grad():
        actor.biases[-1].fill_(1.0)
    chunk = actor(torch.zeros(1, 7), torch.full((1, 4, 2), 0.95))
    assert torch.equal(chunk, torch.ones_like(chunk))
    (gradient,) = torch.autograd.grad(chunk.sum(), [actor.biases[-1]])
    assert (gradient > 0).all()


def test_all_layers_of_the_residual_actor_learn():
    agent, batch = agent_and_batch(**RESIDUAL, learning_rate=1e-2)
    before = [p.detach().clone() for p in agent.actor.parameters()]
    for _ in range(3):
        agent._update_actor(batch)
    assert all(not torch.equal(p, old) for p, old in zip(agent.actor.parameters(), before))


def test_input_dropout_with_a_residual_actor_is_refused():
    """method.md C.22: a reference that is not shown cannot be copied by a correction of it."""
    with pytest.raises(ValueError, match="reference_dropout is 0.5; expected 0 with a residual actor"):
        AgentConfig(actor_form="residual")
    AgentConfig(actor_form="residual", reference_dropout=0.0)


def test_a_residual_actor_needs_no_pretraining_and_its_error_is_measured_all_the_same():
    subject = learner(**RESIDUAL, gate_reference_error=0.02, gate_updates=3)
    subject.add(rows(16))
    assert not subject.gate.open and "squared error to the reference inf" in subject.gate.reason
    assert subject.train(2) == 2  # critic updates from the first one on
    assert (subject.agent.critic_updates, subject.progress.pretrained_error) == (2, 0.0)
    assert subject.gate.reason == "critic updates 2 of 3"
    subject.train(1)
    assert subject.gate.open


def test_the_residual_form_travels_with_the_weights():
    subject = learner(**RESIDUAL, actor_every=1)
    subject.add(rows(16))
    seen = features(1, np.random.default_rng(0))
    first = load_policy(subject.weights(), CONTRACT)
    np.testing.assert_array_equal(first.act(seen), seen.reference[:4])
    subject.train(50)
    moved = load_policy(subject.weights(), CONTRACT).act(seen) - seen.reference[:4]
    assert 0.0 < np.abs(moved[:, :2]).max() <= 0.25 + 1e-6 and not moved[:, 2].any()
    own = subject.agent.actor(
        torch.from_numpy(np.concatenate([seen.z, seen.proprio]))[None], torch.from_numpy(seen.reference[None, :4, :2])
    )
    np.testing.assert_allclose(moved[:, :2] + seen.reference[:4, :2], own[0].detach(), atol=1e-6)


# training noise


def test_the_critics_judge_a_sampled_chunk_and_bc_the_mean():
    agent, batch = agent_and_batch(training_noise=0.3, reference_dropout=0.0)
    judged = []
    agent.critic.register_forward_pre_hook(lambda module, arguments: judged.append(arguments[1].detach()))
    mean = agent.actor(batch.state, agent.policy_part(batch.reference)).detach()
    bc = losses.bc_loss(
        mean, losses.bc_target(agent.policy_part(batch.reference), agent.policy_part(batch.action), batch.human)
    )
    _, reported = agent._update_actor(batch)
    noise = (judged[0] - mean)[mean.abs() < 0.3]
    assert 0.2 < noise.std() < 0.4 and noise.mean().abs() < 0.1
    assert judged[0].abs().max() <= 1.0
    torch.testing.assert_close(reported, bc)


def test_noise_in_training_is_neither_that_of_the_rollout_nor_that_of_the_target():
    quiet, batch = agent_and_batch(target_noise=0.0, rollout_noise=0.7, target_critics=3)
    twin, _ = agent_and_batch(target_noise=0.0, rollout_noise=0.0, target_critics=3)
    noisy, _ = agent_and_batch(target_noise=0.0, training_noise=0.5, target_critics=3)
    assert torch.equal(noisy.target_values(batch), quiet.target_values(batch))
    for agent in (twin, noisy):
        agent.generator.set_state(quiet.generator.get_state())
    loss = quiet._update_actor(batch)[0]
    assert torch.equal(twin._update_actor(batch)[0], loss)
    assert not torch.equal(noisy._update_actor(batch)[0], loss)


def test_without_training_noise_an_actor_update_draws_for_dropout_alone():
    """Measured results were obtained so: another number drawn would change them all."""
    agent, batch = agent_and_batch(reference_dropout=0.5)
    twin = torch.Generator()
    twin.set_state(agent.generator.get_state())
    losses.kept_rows(batch.reference, 0.5, twin)
    agent._update_actor(batch)
    assert torch.equal(agent.generator.get_state(), twin.get_state())


def test_the_gradient_of_a_sampled_chunk_reaches_its_mean():
    mean = torch.zeros(1000, 1, 1, requires_grad=True)
    taken = losses.sampled(mean, losses.gaussian(mean, 0.1, torch.Generator().manual_seed(0)))
    assert 0.09 < taken.std() < 0.11
    (gradient,) = torch.autograd.grad(taken.sum(), [mean])
    assert torch.equal(gradient, torch.ones_like(mean))


# weights of Q and BC


def test_weights_are_fixed_without_a_ramp():
    config = AgentConfig()
    assert {config.actor_weights(n) for n in (0, 1, 10**6)} == {(1.0, 0.1)}


def test_weights_are_ramped_on_a_line_between_their_ends():
    config = AgentConfig(
        q_weight=0.4, bc_beta=2.0, ramp_updates=10, ramp_after=5, q_weight_start=0.0, bc_beta_start=7.0
    )
    assert [config.actor_weights(n) for n in (0, 5)] == [(0.0, 7.0)] * 2
    assert config.actor_weights(6) == (pytest.approx(0.04), pytest.approx(6.5))
    assert config.actor_weights(10) == (pytest.approx(0.2), pytest.approx(4.5))
    assert [config.actor_weights(n) for n in (15, 99)] == [(0.4, 2.0)] * 2


def test_the_actor_loss_uses_the_weights_of_its_update():
    changes = {"q_weight": 0.4, "bc_beta": 2.0, "ramp_updates": 10, "q_weight_start": 0.2, "bc_beta_start": 7.0}
    agent, batch = agent_and_batch(**changes, reference_dropout=0.0, learning_rate=0.0)
    reference = agent.policy_part(batch.reference)
    q = agent.q_of(batch, agent.actor(batch.state, reference)).mean()
    for updates, q_weight, beta in ((0, 0.2, 7.0), (5, 0.3, 4.5), (10, 0.4, 2.0)):
        agent.actor_updates = updates
        loss, bc = agent._update_actor(batch)
        assert agent.weights == (pytest.approx(q_weight), pytest.approx(beta))
        torch.testing.assert_close(loss, beta * bc - q_weight * q)


def test_the_ramp_goes_on_where_it_was_after_a_restart(tmp_path):
    config = {"ramp_updates": 100, "q_weight_start": 0.0, "utd": 5}
    before = learner(**config)
    before.add(rows(16))
    before.train(80)
    assert before.agent.weights[0] == pytest.approx(0.4)
    after = learner(**config)
    resume(after, rows(16), save_checkpoint(tmp_path, before))
    assert after.agent.weights == before.agent.weights


# start from the weights of another run


@pytest.fixture
def policy_file(tmp_path):
    """Weights of a run that has learned."""
    other = learner(seed=7, actor_every=1)
    other.add(rows(32))
    other.train(60)
    path = tmp_path / "policy.safetensors"
    write_policy_file(path, other.weights())
    return path, other


def test_starting_from_a_file_takes_the_actor_and_nothing_else(policy_file):
    path, other = policy_file
    subject, fresh = learner(), learner()
    assert subject.start_from(path) == 1
    for part in ("actor", "ema"):
        mine, theirs = getattr(subject.agent, part).state_dict(), getattr(other.agent, part).state_dict()
        assert all(torch.equal(t, theirs[name]) for name, t in mine.items())
    critics, untrained = subject.agent.critic.state_dict(), fresh.agent.critic.state_dict()
    assert all(torch.equal(t, untrained[name]) for name, t in critics.items())
    stats = subject.stats()
    assert (stats.critic_updates, stats.actor_updates, stats.rows, stats.update_debt) == (0, 0, 0, 0)
    assert subject.weights().version == 1


def test_an_actor_out_of_a_file_is_not_drawn_back_to_the_reference(policy_file):
    path, other = policy_file
    pretrains = {"bc_pretrain_updates": 50, "gate_reference_error": 0.0, "actor_after": 10**6}
    subject, untrained = learner(**pretrains), learner(**pretrains)
    subject.start_from(path)
    for each in (subject, untrained):
        each.add(rows(32))
    assert subject.due_updates == subject.train(1000) == 160
    assert untrained.train(1000) == 210
    mine, theirs = subject.agent.actor.state_dict(), other.agent.actor.state_dict()
    assert all(torch.equal(t, theirs[name]) for name, t in mine.items())
    assert subject.gate.open and not untrained.gate.open


def test_a_start_from_a_file_survives_a_checkpoint(policy_file, tmp_path):
    path, _ = policy_file
    config = {"bc_pretrain_updates": 50, "gate_reference_error": 0.0}
    before, after = learner(**config), learner(**config)
    before.start_from(path)
    before.add(rows(32))
    before.train(20)
    resume(after, rows(32), save_checkpoint(tmp_path, before))
    assert after.train(1000) == before.train(1000) == 140
    assert after.weights().data == before.weights().data


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (lambda: Learner(small_config(), DIMS, "other", 5.0), "contract is 'c0ffee'; expected 'other'"),
        (lambda: learner(hidden=32), "hidden is 16; expected 32"),
        (lambda: learner(chunk=5), "chunk is 4; expected 5"),
        (lambda: learner(passthrough=(1,)), r"passthrough is \(2,\); expected \(1,\)"),
        (lambda: learner(**RESIDUAL), "actor_form is 'absolute'; expected 'residual'"),
        (lambda: Learner(small_config(), Dims(5, 3, 3), CONTRACT, 5.0), "dims.z is 4; expected 5"),
    ],
)
def test_weights_of_another_make_are_refused_with_both_values_and_change_nothing(policy_file, subject, message):
    refuser = subject()
    before = {name: t.clone() for name, t in refuser.agent.actor.state_dict().items()}
    with pytest.raises(WeightsError, match=message):
        refuser.start_from(policy_file[0])
    assert all(torch.equal(t, before[name]) for name, t in refuser.agent.actor.state_dict().items())
    assert not refuser.progress.started


def test_no_start_from_a_missing_file_or_after_learning(policy_file, tmp_path):
    subject = learner()
    with pytest.raises(WeightsError, match="nothing.safetensors: no such file"):
        subject.start_from(tmp_path / "nothing.safetensors")
    subject.add(rows(16))
    subject.train(3)
    with pytest.raises(RuntimeError, match="cannot start from weights after 3 updates; expected none"):
        subject.start_from(policy_file[0])


def test_other_settings_than_the_make_of_the_actor_may_differ(policy_file):
    replaced = replace(small_config(), gamma=0.5, bc_beta=3.0)
    assert Learner(replaced, DIMS, CONTRACT, 5.0).start_from(policy_file[0]) == 1

"""The phases and updates of LeRobot's contract, with this package's semantics."""

from __future__ import annotations

import itertools

import pytest
import torch
from lerobot_batches import KINDS, ROWS, D, Mixer, algorithm, batch, batches, config

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.lerobot.algorithm import RLTAlgorithm
from rlt_ros.lerobot.contract import TrainingStats
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.rl.learner import Diverged
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.train_token import train_token


def snapshot(module):
    return {name: t.clone() for name, t in module.state_dict().items()}


def changed(module, before):
    return {name for name, t in module.state_dict().items() if not torch.equal(t, before[name])}


def test_the_offline_phase_is_stage_1s_training_step_for_step():
    made, frames = config(), 4 * ROWS
    draw = torch.Generator().manual_seed(5)
    tokens = torch.randn(frames, len(KINDS), D, generator=draw)
    mask = torch.rand(frames, len(KINDS), generator=draw) < 0.9

    def shuffled(seed):
        order = torch.Generator().manual_seed(seed)
        while True:
            for rows in torch.randperm(frames, generator=order).split(ROWS):
                yield {"state": {"observation.vla_embeddings": tokens[rows], "observation.vla_mask": mask[rows]}}

    whole = RLTPolicy(made).token
    stage1 = Stage1Config(token=made.token, fit_token=made.fit_token)
    train_token(whole, tokens, mask, made.token_kinds, stage1, seed=made.agent.seed)

    stepwise = algorithm()
    given = shuffled(made.agent.seed)
    losses = [stepwise.offline_update(given).losses["loss_rl_token"] for _ in range(made.fit_token.steps)]
    assert losses[-1] < losses[0]
    for name, tensor in whole.state_dict().items():
        assert name in ("shift", "scale") or torch.equal(stepwise.policy.token.state_dict()[name], tensor), name

    stepwise.transition_to_online()
    z = stepwise.policy.token.encode(tokens, mask, made.token_kinds)
    assert z.mean(dim=0).abs().max() < 0.02 and (z.std(dim=0) - 1).abs().max() < 0.02


def test_an_offline_update_leaves_the_agent_alone_and_an_update_the_token():
    made = algorithm()
    networks = {name: snapshot(getattr(made.agent, name)) for name in ("actor", "critic", "ema", "target")}
    token = snapshot(made.policy.token)
    made.offline_update(batches())
    assert changed(made.policy.token, token)
    assert not any(changed(getattr(made.agent, name), before) for name, before in networks.items())
    made.transition_to_online()
    token = snapshot(made.policy.token)
    made.update(batches())
    assert not changed(made.policy.token, token)
    assert all(changed(getattr(made.agent, name), before) for name, before in networks.items())


def test_beyond_the_schedule_the_learning_rate_does_not_rise_again():
    made = algorithm()
    rates = [made.offline_update(itertools.repeat(batch())).extra["rl_token_lr"] for _ in range(50)]
    assert rates[40:] == [rates[39]] * 10 and rates[39] < 0.01 * max(rates)


def test_an_update_takes_utd_batches_and_updates_the_actor_with_every_second_critic_update():
    made, taken = algorithm(utd=5), []
    counted = (taken.append(1) or b for b in batches())
    for calls in range(1, 5):
        stats = made.update(counted)
        assert isinstance(stats, TrainingStats)
        assert (len(taken), made.agent.critic_updates) == (5 * calls, 5 * calls)
        assert made.agent.actor_updates == 5 * calls // 2
        assert made.optimization_step == calls


def test_an_update_equals_the_agents_own_updates_on_the_same_batches():
    one, other = algorithm(utd=3), algorithm(utd=3)
    stats = one.update(batches())
    infos = [other.agent.update(other._rows(b)) for b in itertools.islice(batches(), 3)]
    assert stats.losses["loss_critic"] == pytest.approx(float(sum(i.critic_loss for i in infos)) / 3)
    assert stats.losses["loss_actor"] == float(infos[1].actor_loss)
    assert torch.equal(one.agent.actor.weights[0], other.agent.actor.weights[0])


def test_statistics_name_the_actor_only_when_it_learned():
    made = algorithm(utd=1)
    first, second = made.update(batches()), made.update(batches())
    assert set(first.losses) == {"loss_critic"} and set(first.grad_norms) == {"critic"}
    assert set(second.losses) == {"loss_critic", "loss_actor"} and set(second.grad_norms) == {"critic", "actor"}
    log = second.to_log_dict()
    assert set(log) == {"loss_critic", "loss_actor", "critic_grad_norm", "actor_grad_norm", "q_value_mean", "bc_loss"}
    assert all(isinstance(value, float) for value in log.values())


def test_gradient_norms_are_those_before_clipping():
    stats = [algorithm(grad_clip=clip).update(batches()) for clip in (1e-3, 1e3)]
    assert stats[0].grad_norms["critic"] > 1e-2
    assert stats[0].grad_norms["critic"] == pytest.approx(stats[1].grad_norms["critic"], rel=0.5)


def test_pretraining_brings_the_actor_to_the_reference():
    made, stored = algorithm(learning_rate=3e-3), batch()
    reference = stored["complementary_info"]["reference_action"]
    stored["complementary_info"]["is_intervention"] = torch.zeros(ROWS)

    def distance():
        given = stored["state"] | {"observation.reference_action": reference}
        return float((made.policy.predict_action_chunk(given) - reference).square().mean())

    made.transition_to_online()
    before = distance()
    for _ in range(200):
        made.pretrain(itertools.repeat(stored))
    assert distance() < 0.1 * before
    assert (made.agent.critic_updates, made.optimization_step) == (0, 200)


def test_the_first_update_ends_the_offline_phase_for_good():
    made = algorithm()
    made.offline_update(batches())
    assert not made.online and made.supports_offline_phase()
    made.update(batches())
    assert made.online and not made.policy.token.training
    assert not any(p.requires_grad for p in made.policy.token.parameters())
    with pytest.raises(RuntimeError, match="offline_update after transition_to_online"):
        made.offline_update(batches())


def test_a_second_transition_keeps_optimisers_counters_and_token():
    made = algorithm()
    for _ in range(3):
        made.offline_update(batches())
    made.transition_to_online()
    made.update(batches())
    optimizers, token = made.get_optimizers(), snapshot(made.policy.token)
    moments = made.agent.tensors()["adam.actor.exp_avg"].clone()
    made.transition_to_online()
    assert made.get_optimizers() == optimizers and made.optimization_step == 4
    assert torch.equal(made.agent.tensors()["adam.actor.exp_avg"], moments)
    assert not changed(made.policy.token, token)


def test_a_trainer_built_late_gets_the_optimisers_that_exist():
    made = algorithm()
    made.update(batches())
    before = made.get_optimizers()
    assert made.make_optimizers_and_scheduler() == before
    assert set(before) == {"rl_token", "actor", "critic"}
    assert before["critic"].state


def test_the_data_iterator_is_the_mixers_own():
    made, mixer = algorithm(utd=1), Mixer()
    iterator = made.configure_data_iterator(mixer, 16)
    assert mixer.asked == (16, True, 2)
    made.update(iterator)
    made.configure_data_iterator(mixer, 8, async_prefetch=False, queue_size=5)
    assert mixer.asked == (8, False, 5)


def test_a_loss_that_is_not_finite_stops_the_run():
    made = algorithm()
    with torch.no_grad():
        made.agent.critic.head_bias.fill_(torch.nan)
    with pytest.raises(Diverged, match="loss_critic is nan"):
        made.update(batches())
    offline = batch()
    offline["state"]["observation.vla_embeddings"] *= torch.inf
    with pytest.raises(Diverged, match="loss_rl_token is nan at offline step 0"):
        algorithm().offline_update(iter([offline]))


def test_a_policy_made_for_other_settings_is_refused_with_both_values():
    with pytest.raises(ContractMismatch, match="agent.gamma: 0.99 here, 0.9 there"):
        RLTAlgorithm(policy=RLTPolicy(config()), config=config(gamma=0.9))


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="agent.utd is 0"):
        config(utd=0)
    with pytest.raises(ValueError, match=r"kinds\[1\] is 'PICTURE'"):
        type(config())(**vars(config()) | {"kinds": ("IMAGE", "PICTURE")})

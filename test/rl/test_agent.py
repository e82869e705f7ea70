"""What an update reads and writes."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from synthetic import DIMS, rows, small_config

from rlt_ros.rl import losses
from rlt_ros.rl.agent import Agent, load_strictly
from rlt_ros.rl.replay import Batch, Replay


def batch_of(config, seed=0):
    """A batch out of a replay with finished phases."""
    replay = Replay(config, DIMS)
    for row in rows(64):
        replay.add(row)
    return replay.sample(config.batch, torch.Generator().manual_seed(seed))


def agent_and_batch(**changes) -> tuple[Agent, Batch]:
    """An agent whose target clip is out of the way unless asked for: untrained values may be negative."""
    config = small_config(**{"q_low": -10.0, "q_high": 10.0} | changes)
    return Agent(config, DIMS), batch_of(config)


def snapshot(module):
    return {name: t.clone() for name, t in module.state_dict().items()}


def changed(module, before):
    return any(not torch.equal(t, before[name]) for name, t in module.state_dict().items())


def constant_members(agent: Agent, values: list[float]) -> None:
    """Target members that answer with constants."""
    agent.target.head_weight.zero_()
    agent.target.head_bias.copy_(torch.tensor(values)[:, None])


def test_target_uses_the_next_reference_not_the_current_one():
    agent, batch = agent_and_batch(target_noise=0.0, target_critics=3)
    base = agent.target_values(batch)
    assert torch.equal(agent.target_values(replace(batch, reference=batch.reference + 0.3)), base)
    moved = agent.target_values(replace(batch, next_reference=-batch.next_reference))
    going_on = batch.terminated == 0
    assert going_on.any() and (moved != base)[going_on].any()
    assert torch.equal(moved[~going_on], base[~going_on])


def test_the_next_action_comes_from_the_current_policy_and_not_from_its_average():
    agent, batch = agent_and_batch(target_noise=0.0, target_critics=3)
    base = agent.target_values(batch)
    with torch.no_grad():
        agent.ema.biases[-1].add_(1.0)
    assert torch.equal(agent.target_values(batch), base)
    with torch.no_grad():
        agent.actor.biases[-1].add_(1.0)
    assert not torch.equal(agent.target_values(batch), base)


def test_target_is_the_minimum_over_two_random_members():
    agent, batch = agent_and_batch(target_noise=0.0)
    batch = replace(batch, rewards=torch.zeros_like(batch.rewards), terminated=torch.zeros_like(batch.terminated))
    constant_members(agent, [0.2, 0.5, 0.8])
    discount = agent.config.gamma**batch.horizon
    seen = {round((agent.target_values(batch) / discount)[0].item(), 4) for _ in range(60)}
    assert seen == {0.2, 0.5}  # 0.8 never is the smaller of two; 0.5 is when 0.2 is not drawn


def test_members_by_view_and_by_copy_agree_with_the_whole_ensemble():
    agent, batch = agent_and_batch(critics=5)
    chunk = agent.policy_part(batch.action)
    whole = agent.target(batch.state, chunk)
    for members in ([0], [1, 3], [0, 4], [0, 1, 4]):
        torch.testing.assert_close(agent.target(batch.state, chunk, members), whole[members])


def rows_seen(network, work):
    """Rows of each call of a network."""
    seen = []
    handle = network.register_forward_pre_hook(lambda module, arguments: seen.append(len(arguments[0])))
    work()
    handle.remove()
    return seen


def test_networks_are_spared_rows_whose_answer_counts_for_nothing():
    agent, batch = agent_and_batch(batch=32)
    going_on = int((batch.terminated == 0).sum())
    short = int((batch.horizon < agent.config.chunk).sum())
    assert 0 < short < 32 and 0 < going_on < 32
    assert rows_seen(agent.target, lambda: agent.target_values(batch)) == [going_on]
    assert rows_seen(agent.actor, lambda: agent.target_values(batch)) == [going_on]
    assert rows_seen(agent.actor, lambda: agent.q(batch)) == [short]


def test_a_batch_of_outcomes_alone_and_one_of_whole_windows_alone_are_learned_from():
    agent, batch = agent_and_batch(gamma=0.9)
    ended = replace(batch, terminated=torch.ones_like(batch.terminated))
    discounts = 0.9 ** torch.arange(agent.config.chunk)
    torch.testing.assert_close(agent.target_values(ended), (batch.rewards * batch.valid) @ discounts)
    valid = torch.ones_like(batch.valid)
    whole = replace(batch, horizon=valid.sum(dim=1), valid=valid)
    assert torch.equal(agent.q(whole), agent.critic(batch.state, agent.policy_part(batch.action)))
    assert all(torch.isfinite(agent.update(each).critic_loss) for each in (ended, whole))


def test_target_is_clipped_to_the_reachable_return():
    agent, batch = agent_and_batch(q_low=0.0, q_high=1.0)
    constant_members(agent, [9.0, 9.0, 9.0])
    assert agent.target_values(batch).max() == 1.0
    constant_members(agent, [-9.0, -9.0, -9.0])
    assert agent.target_values(batch).min() == 0.0


def test_target_without_smoothing_is_deterministic_and_with_it_is_not():
    quiet, batch = agent_and_batch(target_noise=0.0, target_critics=3)
    assert torch.equal(quiet.target_values(batch), quiet.target_values(batch))
    noisy, batch = agent_and_batch(target_noise=0.1, target_critics=3)
    assert not torch.equal(noisy.target_values(batch), noisy.target_values(batch))


def test_the_smoothed_action_stays_inside_its_bounds():
    agent, batch = agent_and_batch(target_noise=5.0, target_noise_clip=5.0)
    seen = []
    agent.target.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[1]))
    agent.target_values(batch)
    assert seen[0].abs().max() == 1.0


def test_noise_in_the_target_is_the_smoothing_alone():
    agent, batch = agent_and_batch(target_critics=3)
    twin = Agent(agent.config, DIMS)
    chunk = twin.actor(batch.next_state, twin.policy_part(batch.next_reference))
    noise = losses.smoothing_noise(chunk, 0.1, 0.2, twin.generator)
    values = twin.target(batch.next_state, (chunk + noise).clamp(-1, 1)).min(0).values
    wanted = losses.td_target(batch.rewards, batch.valid, batch.horizon, batch.terminated, values, agent.config.gamma)
    torch.testing.assert_close(agent.target_values(batch), wanted)


def test_actions_beyond_the_horizon_do_not_reach_the_critic_and_the_policy_completes_the_chunk():
    agent, batch = agent_and_batch()
    assert (batch.horizon < agent.config.chunk).any()
    other = torch.where(batch.valid.unsqueeze(2) > 0, batch.action, torch.full_like(batch.action, 0.7))
    assert torch.equal(agent.q(replace(batch, action=other)), agent.q(batch))
    own = agent.actor(batch.state, agent.policy_part(batch.reference))
    whole = torch.where(batch.valid.unsqueeze(2) > 0, agent.policy_part(batch.action), own)
    torch.testing.assert_close(agent.q(batch), agent.critic(batch.state, whole))
    with torch.no_grad():
        agent.actor.biases[-1].add_(0.5)
    unlike = (agent.q(batch) != agent.critic(batch.state, whole)).any(dim=0)
    assert torch.equal(unlike, batch.horizon < agent.config.chunk)


def test_the_gripper_reaches_neither_critic_nor_actor_nor_bc():
    agent, batch = agent_and_batch()
    other = {}
    for name in ("action", "reference", "next_reference"):
        other[name] = getattr(batch, name).clone()
        other[name][:, :, 2] = 0.123
    agent_again = copy.deepcopy(agent)
    agent_again.generator.set_state(agent.generator.get_state())
    first, second = agent.update(batch), agent_again.update(replace(batch, **other))
    assert torch.equal(first.critic_loss, second.critic_loss)
    assert agent.actor.shape == (4, 2)


def test_actor_step_leaves_critics_and_targets_alone():
    agent, batch = agent_and_batch()
    critic, target, actor = snapshot(agent.critic), snapshot(agent.target), snapshot(agent.actor)
    agent._update_actor(batch)
    assert not changed(agent.critic, critic) and not changed(agent.target, target)
    assert all(p.grad is None for p in agent.critic.parameters())
    assert changed(agent.actor, actor)


def test_critic_step_leaves_the_actor_alone_and_moves_the_target_by_tau():
    agent, batch = agent_and_batch(tau=0.25)
    before, actor = snapshot(agent.target), snapshot(agent.actor)
    agent._update_critic(batch)
    assert not changed(agent.actor, actor)
    for name, after in agent.target.state_dict().items():
        torch.testing.assert_close(after, before[name] + 0.25 * (agent.critic.state_dict()[name] - before[name]))


def test_actor_loss_is_beta_times_the_sum_minus_the_mean_of_the_critics():
    agent, batch = agent_and_batch(reference_dropout=0.0, bc_beta=0.3)
    reference = agent.policy_part(batch.reference)
    chunk = agent.actor(batch.state, reference)
    wanted = torch.where(batch.human.unsqueeze(2) > 0, agent.policy_part(batch.action), reference)
    bc = (chunk - wanted).square().sum() / agent.config.batch
    q = agent.critic(batch.state, chunk).mean()
    loss, reported = agent._update_actor(batch)
    torch.testing.assert_close(loss, 0.3 * bc - q)
    torch.testing.assert_close(reported, bc)


def test_dropout_hides_the_input_but_not_the_target():
    agent, batch = agent_and_batch(reference_dropout=0.999999)
    blind = agent.actor(batch.state, torch.zeros_like(agent.policy_part(batch.reference)))
    wanted = losses.bc_target(agent.policy_part(batch.reference), agent.policy_part(batch.action), batch.human)
    bc, chunk = agent._bc(batch)
    assert torch.equal(chunk, blind)
    torch.testing.assert_close(bc, losses.bc_loss(blind, wanted))


def test_the_target_never_drops_its_reference():
    """With dropout in the target two evaluations would differ."""
    agent, batch = agent_and_batch(reference_dropout=0.9, target_noise=0.0, target_critics=3)
    assert torch.equal(agent.target_values(batch), agent.target_values(batch))


def test_human_steps_pull_towards_the_human_and_others_do_not():
    agent, batch = agent_and_batch(reference_dropout=0.0)
    everything_vla = replace(batch, human=torch.zeros_like(batch.human))
    unaffected = agent._bc(replace(everything_vla, action=-batch.action))[0]
    assert torch.equal(unaffected, agent._bc(everything_vla)[0])
    assert not torch.equal(agent._bc(batch)[0], unaffected)


def test_two_critic_updates_per_actor_update_counted_in_critic_steps():
    agent, batch = agent_and_batch(actor_every=2, actor_after=3)
    learned = [agent.update(batch).actor_loss is not None for _ in range(8)]
    assert learned == [False, False, False, True, False, True, False, True]
    assert (agent.critic_updates, agent.actor_updates) == (8, 3)


def test_gradients_are_clipped_for_each_network_on_its_own():
    """Clipped together, a huge actor gradient would shrink that of the critics to nothing."""
    agent, batch = agent_and_batch(grad_clip=1e-3, bc_beta=1e6)
    agent.update(batch)
    agent.update(batch)
    assert [t.flat.grad.norm().item() for t in agent._trained.values()] == pytest.approx([1e-3, 1e-3], rel=1e-3)


def test_a_gradient_within_the_bound_is_left_as_it_is():
    steps = []
    for bound in (1e6, 1e9):
        agent, batch = agent_and_batch(grad_clip=bound)
        agent.update(batch)
        steps.append(agent._trained["critic"].flat.grad.clone())
    assert 0 < steps[0].norm() < 1e6 and torch.equal(*steps)


@pytest.mark.parametrize("form", ["absolute", "residual"])
def test_bfloat16_rounds_the_multiplications_and_nothing_else(form):
    """Three digits of a multiplication: losses agree to a per cent, weights and moments stay float32."""
    exact, batch = agent_and_batch(hidden=64, actor_form=form, reference_dropout=0.0)
    rounded = Agent(replace(exact.config, precision="bfloat16"), DIMS)
    values = rounded.q(batch)
    assert values.dtype == torch.float32 and not torch.equal(values, exact.q(batch))
    for _ in range(2):
        first, second = exact.update(batch), rounded.update(batch)
    torch.testing.assert_close(second.critic_loss, first.critic_loss, rtol=0.02, atol=1e-3)
    torch.testing.assert_close(second.actor_loss, first.actor_loss, rtol=0.02, atol=1e-3)
    floats = {name: t for name, t in rounded.tensors().items() if name != "generator"}
    assert {t.dtype for t in floats.values()} == {torch.float32}
    again = Agent(rounded.config, DIMS)
    again.update(batch), again.update(batch)
    assert all(torch.equal(t, again.tensors()[name]) for name, t in floats.items())


def test_averaged_actor_moves_by_ema_with_each_actor_update_only():
    agent, batch = agent_and_batch(ema=0.1, actor_every=2, actor_after=0)
    before = snapshot(agent.ema)
    agent.update(batch)
    assert not changed(agent.ema, before)
    agent.update(batch)
    for name, after in agent.ema.state_dict().items():
        torch.testing.assert_close(after, before[name] + 0.1 * (agent.actor.state_dict()[name] - before[name]))


def test_pretraining_copies_the_reference_and_touches_no_critic():
    agent, batch = agent_and_batch(hidden=64, reference_dropout=0.0, learning_rate=3e-3)
    batch = replace(batch, human=torch.zeros_like(batch.human))
    critic = snapshot(agent.critic)
    first = agent.pretrain(batch)
    last = [agent.pretrain(batch) for _ in range(300)][-1]
    assert last < 0.02 * first
    assert not changed(agent.critic, critic) and agent.critic_updates == 0
    assert not changed(agent.ema, agent.actor.state_dict())


def test_the_actor_stays_inside_its_bounds():
    agent, batch = agent_and_batch()
    assert agent.actor(1e4 * batch.state, agent.policy_part(batch.reference)).abs().max() <= 1.0


def test_same_seed_same_networks_other_seed_others():
    first, same, other = (Agent(small_config(seed=s), DIMS) for s in (1, 1, 2))
    assert not changed(first.critic, same.critic.state_dict())
    assert changed(first.critic, other.critic.state_dict())
    members = first.critic.head_weight
    assert not torch.equal(members[0], members[1])


def test_global_random_state_is_neither_read_nor_written():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    agent, batch = agent_and_batch()
    agent.update(batch)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.isfinite(float(agent.update(batch).critic_loss))


def test_loading_refuses_missing_unknown_and_misshapen_tensors():
    agent, _ = agent_and_batch()
    good = snapshot(agent.actor)
    with pytest.raises(ValueError, match="missing.*weights.0"):
        load_strictly(agent.actor, {n: t for n, t in good.items() if n != "weights.0"}, "actor")
    with pytest.raises(ValueError, match="unknown.*extra"):
        load_strictly(agent.actor, good | {"extra": torch.zeros(1)}, "actor")
    with pytest.raises(ValueError, match=r"biases.0 has shape \(3,\); expected \(16,\)"):
        load_strictly(agent.actor, good | {"biases.0": torch.zeros(3)}, "actor")

"""The yardstick of the speed ratios does the same as the agent: equal weights and rows give equal losses and steps."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from bench.limit import multiplications, naive_products
from bench.plain import PlainAgent, PlainReplay
from bench.rows import plain_rows, transitions
from bench.weights import actor_tensors, copy_weights, critic_tensors
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.replay import Replay

DIMS = Dims(z=8)
CONFIG = AgentConfig(hidden=32, layers=2, batch=64, actor_after=0, replay_capacity=600)


def sampled(config: AgentConfig):
    """The same batch out of both replays."""
    rows = transitions(config, DIMS, 500)
    replay = Replay(config, DIMS)
    for row in rows:
        replay.add(row)
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    repeated = PlainReplay(plain_rows(rows, config.gamma))
    return replay.sample(config.batch, generators[0]), repeated.sample(config.batch, generators[1])


def both(config: AgentConfig, freeze: bool = False) -> tuple[Agent, PlainAgent]:
    """The agent and its plain version with equal weights."""
    agent, plain = Agent(config, DIMS), PlainAgent(config, DIMS, freeze)
    copy_weights(agent, plain)
    return agent, plain


def test_both_replays_hold_the_same_rows():
    ours, plain = sampled(CONFIG)
    assert (ours.horizon < CONFIG.chunk).any() and (ours.terminated > 0).any() and (ours.human > 0).any()
    for name, tensor in plain.items():
        torch.testing.assert_close(getattr(ours, name), tensor, rtol=1e-6, atol=1e-6, equal_nan=True)


def gradients(trained, module):
    """A copy of a network whose parameters are the gradients of its last step."""
    copied = copy.deepcopy(module)
    parts = trained.flat.grad.split([p.numel() for p in module.parameters()])
    for parameter, part in zip(copied.parameters(), parts, strict=True):
        parameter.data = part.view(parameter.shape).clone()
    return copied


def assert_gradients(tensors, module):
    for tensor, own in zip(tensors, module.parameters(), strict=True):
        torch.testing.assert_close(tensor, own.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("layers", [2, 3])
def test_the_plain_version_computes_the_same_losses_and_gradients(freeze, layers):
    config = replace(CONFIG, layers=layers)
    agent, plain = both(config, freeze)
    ours, same = sampled(config)
    info, (critic_loss, _) = agent.update(ours), plain.update(same)
    assert critic_loss == pytest.approx(float(info.critic_loss), rel=1e-5)
    critics = gradients(agent._trained["critic"], agent.critic)
    for member, critic in enumerate(plain.critics):
        assert_gradients(critic_tensors(critics, member), critic)
    info, (_, actor_loss) = agent.update(ours), plain.update(same)
    assert actor_loss == pytest.approx(float(info.actor_loss), rel=1e-5)
    assert_gradients(actor_tensors(gradients(agent._trained["actor"], agent.actor)), plain.actor)


def test_after_a_hundred_updates_the_weights_still_agree():
    agent, plain = both(CONFIG)
    ours, same = sampled(CONFIG)
    for _ in range(100):
        agent.update(ours), plain.update(same)
    pairs = [(actor_tensors(agent.actor), plain.actor), (actor_tensors(agent.ema), plain.ema)]
    for member in range(CONFIG.critics):
        pairs.append((critic_tensors(agent.critic, member), plain.critics[member]))
        pairs.append((critic_tensors(agent.target, member), plain.targets[member]))
    for tensors, module in pairs:
        for tensor, own in zip(tensors, module.parameters(), strict=True):
            torch.testing.assert_close(tensor, own, rtol=1e-3, atol=2e-4)


def test_the_naive_count_is_that_of_the_layers():
    config = AgentConfig(hidden=4, layers=2, batch=2, chunk=1, stride=1, critics=1, target_critics=1, actor_every=1)
    dims = Dims(z=1, proprio=1)
    actor, critic = 8 * 4 + 4 * 4 + 4 * 6, 8 * 4 + 4 * 4 + 4
    critic_step = 2 * actor + critic + critic + critic + (4 * 4 + 4)
    actor_step = actor + critic + 2 * critic + actor + (4 * 4 + 4 * 6)
    assert multiplications(naive_products(config, dims)) == 2 * (critic_step + actor_step)

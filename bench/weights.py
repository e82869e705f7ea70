"""Weights and rows of `rlt_ros.rl` in the shapes of the plain version."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.plain import PlainActor, PlainAgent, PlainCritic
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.networks import Actor, CriticEnsemble


@torch.no_grad()
def copy_weights(agent: Agent, plain: PlainAgent) -> None:
    """Make the plain version start where an agent that has not learned yet stands, random numbers included."""
    _copy_actor(agent.actor, plain.actor)
    _copy_actor(agent.ema, plain.ema)
    for member, (critic, target) in enumerate(zip(plain.critics, plain.targets)):
        _copy_critic(agent.critic, member, critic)
        _copy_critic(agent.target, member, target)
    plain.generator.set_state(agent.generator.get_state())


def critic_tensors(ensemble: CriticEnsemble, member: int) -> list[Tensor]:
    """One member's parameters in the order of `PlainCritic.parameters()`."""
    first = torch.cat([ensemble.state_weight[member], ensemble.action_weight[member]])
    tensors = [first.T, ensemble.first_bias[member, 0]]
    for weight, bias in zip(ensemble.weights, ensemble.biases):
        tensors += [weight[member].T, bias[member, 0]]
    return [*tensors, ensemble.head_weight[member], ensemble.head_bias[member]]


def actor_tensors(actor: Actor) -> list[Tensor]:
    """An actor's parameters in the order of `PlainActor.parameters()`."""
    return [tensor for pair in zip(actor.weights, actor.biases) for tensor in pair]


def _copy_actor(source: Actor, target: PlainActor) -> None:
    for own, tensor in zip(target.parameters(), actor_tensors(source), strict=True):
        own.copy_(tensor)


def _copy_critic(source: CriticEnsemble, member: int, target: PlainCritic) -> None:
    for own, tensor in zip(target.parameters(), critic_tensors(source, member), strict=True):
        own.copy_(tensor)

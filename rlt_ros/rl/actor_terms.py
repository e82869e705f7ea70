"""The two terms of the actor's loss, Eq. 5, and which of them moves the actor."""

from __future__ import annotations

import math

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

Tensor = torch.Tensor


@torch.enable_grad()
def actor_terms(agent: Agent, batch: Batch) -> dict[str, float]:
    """Weights, weighted terms, the angle between their gradients and the pull of Q, on a batch.

    The expectation of what training sees over the dropped reference input, without drawing it. The parameters are
    aliases of the actor's own: no gradient is left on those.
    """
    q_weight, bc_weight = agent.weights
    parameters = {name: p.detach().requires_grad_() for name, p in agent.actor.named_parameters()}
    reference = agent.policy_part(batch.reference)
    wanted, steps = agent.imitated(batch)
    share = agent.config.reference_dropout
    distance, value = torch.zeros_like(batch.human), torch.zeros(())
    for seen, part in ((reference, 1.0 - share), (torch.zeros_like(reference), share)):
        chunk = torch.func.functional_call(agent.actor, parameters, (batch.state, seen))
        distance = distance + part * (chunk - wanted).square().sum(dim=2) * (1.0 if steps is None else steps)
        value = value + part * agent.q_of(batch, chunk).mean()
    bc, q = bc_weight * distance.sum(dim=1).mean(), q_weight * value
    return {
        "q_weight": q_weight,
        "bc_weight": bc_weight,
        "weighted_q": float(q.detach()),
        "weighted_bc": float(bc.detach()),
        "bc_q_cosine": cosine(gradient(bc, parameters), gradient(-q, parameters)),
        "q_pull": pull(agent, batch, reference),
        **_by_teacher(distance.detach(), batch.human > 0),
    }


def pull(agent: Agent, batch: Batch, reference: Tensor) -> float:
    """How far Q would draw the actor from the reference if its slope there went on for ever: RMS per number, in units
    of the action space. At rest 2 beta (a - reference) = q_weight dQ/da, so it says, long before the actor has got
    there, whether the weights of Q and BC are of one order; infinite without BC.
    """
    q_weight, bc_weight = agent.weights
    chunk = reference.detach().requires_grad_()
    slope = torch.autograd.grad(agent.q_of(batch, chunk).mean(dim=0).sum(), chunk)[0]
    return q_weight * float(slope.square().mean().sqrt()) / (2.0 * bc_weight) if bc_weight else math.inf


def gradient(term: Tensor, parameters: dict[str, Tensor]) -> Tensor:
    """Gradient of a scalar towards all parameters as one vector."""
    parts = torch.autograd.grad(term, list(parameters.values()), retain_graph=True)
    return torch.cat([part.reshape(-1) for part in parts])


def cosine(a: Tensor, b: Tensor) -> float:
    """Of the angle between two vectors; 0 where one has no length."""
    return float(torch.nn.functional.cosine_similarity(a, b, dim=0))


def _by_teacher(distance: Tensor, human: Tensor) -> dict[str, float]:
    # Each as if all steps of the chunk were of that kind, so that bc_loss is their mean weighted by the share of steps.
    steps = human.shape[1]
    return {
        "bc_ref_loss": steps * float(distance[~human].mean()),
        "bc_human_loss": steps * float(distance[human].mean()),
    }

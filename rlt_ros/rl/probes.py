"""What one batch tells about an agent: measured beside learning, and without a trace in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rlt_ros.rl import losses
from rlt_ros.rl.actor_terms import actor_terms
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

Tensor = torch.Tensor

PROBE_ROWS = 256
SLOPE_ROWS = 64
"""Rows of the probes that need many passes or gradients: on all of them a look would cost twice as much."""
PROBE_ACTIONS = 8
WORST = 0.95
"""Share of the rows that must fit: the few others are the noise of a regression that is not finished."""
UNKNOWN = math.nan
"""Value of a scalar that nothing has measured yet."""


@dataclass(frozen=True)
class Scale:
    """What |a| = 1 is on the robot, per control step; UNKNOWN where nobody said."""

    translation_mm: float = UNKNOWN  # of dx, dy, dz
    rotation_rad: float = UNKNOWN  # of rx, ry, rz


@dataclass(frozen=True)
class Probes:
    """Fields of the same names in msg/LearnerStats.msg, which explains them; UNKNOWN before there are rows."""

    q_mean: float = UNKNOWN
    q_min: float = UNKNOWN
    q_max: float = UNKNOWN
    q_excess: float = UNKNOWN
    q_disagreement: float = UNKNOWN
    q_return_error: float = UNKNOWN
    q_return_correlation: float = UNKNOWN
    q_gap: float = UNKNOWN
    target_mean: float = UNKNOWN
    target_std: float = UNKNOWN
    q_action_sensitivity: float = UNKNOWN
    q_pi: float = UNKNOWN
    q_members: tuple[float, ...] = ()
    q_advantage: float = UNKNOWN
    q_weight: float = UNKNOWN
    bc_weight: float = UNKNOWN
    weighted_q: float = UNKNOWN
    weighted_bc: float = UNKNOWN
    bc_ref_loss: float = UNKNOWN
    bc_human_loss: float = UNKNOWN
    bc_q_cosine: float = UNKNOWN
    q_pull: float = UNKNOWN
    reference_error: float = UNKNOWN
    reference_error_dropped: float = UNKNOWN
    residual_mm: float = UNKNOWN
    residual_mm_max: float = UNKNOWN
    residual_rad: float = UNKNOWN
    residual_rad_max: float = UNKNOWN
    terminal_ratio: float = UNKNOWN
    human_ratio: float = UNKNOWN


@torch.no_grad()
def probe(agent: Agent, batch: Batch, scale: Scale, generator: torch.Generator) -> Probes:
    """Measure an agent on a batch. generator: of the probe's own noise; the agent's is left as it was."""
    reference = agent.policy_part(batch.reference)
    chunk = agent.actor(batch.state, reference)
    blind = agent.actor(batch.state, torch.zeros_like(reference))
    few = Batch(**{name: column[:SLOPE_ROWS] for name, column in vars(batch).items()})
    return Probes(
        **values(agent, batch),
        **policy_values(agent, batch, chunk, reference),
        **actor_terms(agent, few),
        **residuals(agent, chunk - reference, scale),
        q_action_sensitivity=action_sensitivity(agent, few, chunk[:SLOPE_ROWS], generator),
        reference_error=reference_error(chunk, reference, batch.human),
        reference_error_dropped=reference_error(blind, reference, batch.human),
        terminal_ratio=float(batch.terminated.mean()),
        human_ratio=float(batch.human.sum() / batch.valid.sum()),
    )


@contextmanager
def unchanged(generator: torch.Generator) -> Iterator[None]:
    """Put a generator's state back in the end: looking must not change what is learned next."""
    state = generator.get_state()
    try:
        yield
    finally:
        generator.set_state(state)


def values(agent: Agent, batch: Batch) -> dict[str, float]:
    """Q of the executed chunks against its bounds, its ensemble, its targets and the returns that were earned."""
    members = agent.q(batch)
    with unchanged(agent.generator):
        target = agent.target_values(batch)
    q, c = members.mean(dim=0), agent.config
    outside = torch.maximum(q - c.q_high, c.q_low - q).clamp(min=0.0)
    known = ~batch.mc_return.isnan()
    value, earned = q[known], batch.mc_return[known]
    return {
        "q_mean": float(q.mean()),
        "q_min": float(q.min()),
        "q_max": float(q.max()),
        "q_excess": float(outside.quantile(WORST)),
        "q_disagreement": float(members.std(dim=0, correction=0).mean()),
        "q_return_error": float((value - earned).mean()),
        "q_return_correlation": correlation(value, earned),
        "q_gap": float(value[earned > 0].mean() - value[earned == 0].mean()),
        "target_mean": float(target.mean()),
        "target_std": float(target.std(correction=0)),
    }


def correlation(a: Tensor, b: Tensor) -> float:
    """Pearson's coefficient of two vectors; UNKNOWN where one of them does not vary."""
    a, b = a - a.mean(), b - b.mean()
    spread = a.norm() * b.norm()
    return float(a @ b / spread) if len(a) > 1 and spread > 1e-9 else UNKNOWN


def policy_values(agent: Agent, batch: Batch, chunk: Tensor, reference: Tensor) -> dict[str, float | tuple[float, ...]]:
    """Q of the actor's own chunks, for each critic, and what it promises beyond the reference."""
    own = agent.q_of(batch, chunk)
    return {
        "q_pi": float(own.mean()),
        "q_members": tuple(own.mean(dim=1).tolist()),
        "q_advantage": float((own - agent.q_of(batch, reference)).mean()),
    }


def residuals(agent: Agent, residual: Tensor, scale: Scale) -> dict[str, float]:
    """Distance between actor and reference per control step, mean and largest; UNKNOWN without such dimensions."""
    dims = agent.config.policy_dims(agent.dims)
    found = {}
    for name, first, unit in (("mm", 0, scale.translation_mm), ("rad", 3, scale.rotation_rad)):
        columns = [i for i, dim in enumerate(dims) if first <= dim < first + 3]
        steps = residual[:, :, columns].norm(dim=2) * (unit if columns else UNKNOWN)
        found[f"residual_{name}"], found[f"residual_{name}_max"] = float(steps.mean()), float(steps.max())
    return found


def reference_error(chunk: Tensor, reference: Tensor, human: Tensor) -> float:
    """Mean squared distance per number, over steps that no human drove: there the actor is not asked to copy."""
    distance = (chunk - reference).square().mean(dim=2)
    own = 1.0 - human
    return float((distance * own).sum() / own.sum().clamp(min=1.0))


def action_sensitivity(agent: Agent, batch: Batch, chunk: Tensor, generator: torch.Generator) -> float:
    """Standard deviation of Q over chunks within the exploration noise, mean over rows. Near zero, the critic's slope
    towards the action is noise and so is the actor's gradient (`method.md` 12c).
    """
    sigma = agent.config.rollout_noise
    noisy = [chunk + losses.smoothing_noise(chunk, sigma, 3.0 * sigma, generator) for _ in range(PROBE_ACTIONS)]
    found = torch.stack([agent.q_of(batch, each.clamp(-1.0, 1.0)).mean(dim=0) for each in noisy])
    return float(found.std(dim=0).mean())

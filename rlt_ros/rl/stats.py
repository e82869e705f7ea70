"""What the learner says about itself, and the probes that tell the truth about learning."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rlt_ros.rl import losses
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

PROBE_ROWS = 256
PROBE_ACTIONS = 8
ALARM_SHARE = 0.05
"""Rows with an unreachable Q that raise the alarm; fewer are the noise of a regression that is not finished."""
UNKNOWN = math.nan
"""Value of a scalar that nothing has measured yet."""


@dataclass(frozen=True)
class Probes:
    """Measured on one batch; meanings in msg/LearnerStats.msg. q_outside: share of rows whose Q is no return."""

    q_return_error: float = UNKNOWN
    q_action_sensitivity: float = UNKNOWN
    reference_error: float = UNKNOWN
    reference_error_dropped: float = UNKNOWN
    residual_mm: float = UNKNOWN
    q_outside: float = UNKNOWN


@dataclass(frozen=True)
class LearnerStats:
    """The fields of msg/LearnerStats.msg, which explains them."""

    rows_received: int
    rows: int
    duplicates: int
    refused: int
    critic_updates: int
    actor_updates: int
    update_debt: int
    updates_per_second: float
    weights_version: int
    gate_open: bool
    gate_reason: str
    critic_loss: float
    actor_loss: float
    q_mean: float
    q_return_error: float
    q_action_sensitivity: float
    bc_loss: float
    reference_error: float
    reference_error_dropped: float
    residual_mm: float
    human_rate: float
    alarm_q: float


@torch.no_grad()
def probe(agent: Agent, batch: Batch, translation_mm: float, generator: torch.Generator) -> Probes:
    """Probe an agent without touching it or its random numbers. translation_mm: millimetres at |a| = 1."""
    reference = agent.policy_part(batch.reference)
    chunk = agent.actor(batch.state, reference)
    blind = agent.actor(batch.state, torch.zeros_like(reference))
    q = agent.q(batch).mean(dim=0)
    steps = (chunk - reference)[:, :, agent.translation].norm(dim=2).mean()
    return Probes(
        q_return_error=float((q - batch.mc_return).nanmean()),
        q_action_sensitivity=action_sensitivity(agent, batch, chunk, generator),
        reference_error=reference_error(chunk, reference, batch.human),
        reference_error_dropped=reference_error(blind, reference, batch.human),
        residual_mm=float(steps) * translation_mm,
        q_outside=unreachable(q, agent.config),
    )


def unreachable(q: torch.Tensor, config: AgentConfig) -> float:
    """Share of values that no return can be: further than `q_alarm` outside [q_low, q_high]."""
    outside = (q < config.q_low - config.q_alarm) | (q > config.q_high + config.q_alarm)
    return float(outside.float().mean())


def reference_error(chunk: torch.Tensor, reference: torch.Tensor, human: torch.Tensor) -> float:
    """Mean squared distance per number, over steps that no human drove: there the actor is not asked to copy."""
    distance = (chunk - reference).square().mean(dim=2)
    own = 1.0 - human
    return float((distance * own).sum() / own.sum().clamp(min=1.0))


def action_sensitivity(agent: Agent, batch: Batch, chunk: torch.Tensor, generator: torch.Generator) -> float:
    """Standard deviation of Q over chunks within the exploration noise, mean over rows. Near zero, the critic's slope
    towards the action is noise and so is the actor's gradient (`method.md` 12c).
    """
    sigma = agent.config.rollout_noise
    noisy = [chunk + losses.smoothing_noise(chunk, sigma, 3.0 * sigma, generator) for _ in range(PROBE_ACTIONS)]
    values = torch.stack([agent.q_of(batch, each.clamp(-1.0, 1.0)).mean(dim=0) for each in noisy])
    return float(values.std(dim=0).mean())

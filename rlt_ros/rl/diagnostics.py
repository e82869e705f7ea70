"""Gathers everything that the learner says about itself. Reads only: nothing here changes what is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlt_ros.rl.alarms import AlarmLimits, Alarms
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.phases import PhaseLog
from rlt_ros.rl.probes import UNKNOWN, Probes, Scale
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.types import Transition

if TYPE_CHECKING:
    from rlt_ros.rl.learner import Learner


class Since:
    """Time since a number was last seen to change."""

    def __init__(self) -> None:
        self._value: int | None = None
        self._at = UNKNOWN

    def look(self, value: int, now: float) -> float:
        """Seconds; UNKNOWN as long as the number has been 0."""
        if value != self._value:
            self._value, self._at = value, now if value else UNKNOWN
        return now - self._at


class Diagnostics:
    """Phases, ages, losses and alarms of one learner, which calls it within its own turn."""

    def __init__(self, limits: AlarmLimits, scale: Scale, now: float) -> None:
        self.phases, self.alarms = PhaseLog(), Alarms(limits)
        self.scale = scale
        self.last = dict.fromkeys(("critic_loss", "actor_loss", "bc_loss"), UNKNOWN)
        self._row_age, self._weights_age = Since(), Since()
        self._rate_from = (now, 0)

    def resumed(self, critic_updates: int, now: float) -> None:
        """Updates before now were another process's."""
        self._rate_from = (now, critic_updates)

    def add(self, row: Transition, phases: int) -> None:
        """A new row; phases: finished ones, with this row's."""
        self.phases.add(row, phases)

    def look(self, learner: Learner, probes: Probes, now: float, duplicates: int, refused: int) -> LearnerStats:
        """The statistics of this moment, alarms included. duplicates, refused: the receiver's counts."""
        agent, progress, last = learner.agent, learner.progress, self.last
        stats = LearnerStats(
            rows_received=progress.rows,
            rows=learner.rows,
            rows_evicted=learner.replay.evicted,
            duplicates=duplicates,
            refused=refused,
            seconds_since_row=self._row_age.look(progress.rows, now),
            phases=progress.phases,
            successes=progress.successes,
            failures=progress.failures,
            **self.phases.recent(),
            human_rate=learner.replay.human_rate(),
            human_share=learner.replay.human_share,
            critic_updates=agent.critic_updates,
            actor_updates=agent.actor_updates,
            update_debt=learner.budget.debt,
            updates_forgone=learner.budget.forgone,
            updates_per_second=self._rate(agent.critic_updates, now),
            updates_per_row=agent.critic_updates / progress.rows if progress.rows else UNKNOWN,
            weights_version=learner.weights_version,
            weights_age=self._weights_age.look(learner.weights_version, now),
            weights_age_updates=learner.updates_since_weights,
            gate_open=learner.gate.open,
            gate_reason=learner.gate.reason,
            critic_loss=last["critic_loss"],
            actor_loss=last["actor_loss"],
            bc_loss=last["bc_loss"],
            critic_grad_norm=agent.grad_norm("critic"),
            actor_grad_norm=agent.grad_norm("actor"),
            **vars(probes),
            **noise_mm(learner.config, self.scale),
        )
        return self.alarms.look(stats, learner.config)

    def _rate(self, critic_updates: int, now: float) -> float:
        (since, before), self._rate_from = self._rate_from, (now, critic_updates)
        return (critic_updates - before) / (now - since) if now > since else 0.0


def noise_mm(config: AgentConfig, scale: Scale) -> dict[str, float]:
    """Sigma of every noise in millimetres per axis and control step: 0.04 mm explores nothing (`method.md` C.27)."""
    sigmas = {"rollout": config.rollout_noise, "training": config.training_noise, "target": config.target_noise}
    return {f"{name}_noise_mm": sigma * scale.translation_mm for name, sigma in sigmas.items()}

"""Scalars of a run for TensorBoard, and every row of them as a line of JSON."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlt_ros.rl.phases import PhaseOutcome
from rlt_ros.rl.stats import LearnerStats

UPDATE_ALIASES: Mapping[str, str] = {
    "sac/critic_loss": "critic_loss",
    "sac/actor_loss": "actor_loss",
    "critic/q_data": "q_mean",
    "critic/q_data_min": "q_min",
    "critic/q_data_max": "q_max",
    "critic/q_disagreement": "q_disagreement",
    "critic/q_target": "target_mean",
    "critic/q_target_std": "target_std",
    "critic/q_reward_gap": "q_gap",
    "critic/q_vs_mc": "q_return_error",
    "critic/q_action_sensitivity": "q_action_sensitivity",
    "critic/grad_norm": "critic_grad_norm",
    "actor/q_pi": "q_pi",
    "actor/bc_loss": "bc_loss",
    "actor/bc_ref_loss": "bc_ref_loss",
    "actor/bc_human_loss": "bc_human_loss",
    "actor/human_mask_ratio": "human_ratio",
    "actor/q_weight": "q_weight",
    "actor/bc_weight": "bc_weight",
    "actor/weighted_q": "weighted_q",
    "actor/weighted_bc": "weighted_bc",
    "actor/bc_q_grad_cosine": "bc_q_cosine",
    "actor/adv_actor_vs_ref": "q_advantage",
    "actor/residual_position_mm": "residual_mm",
    "actor/residual_rotation_rad": "residual_rad",
    "actor/ref_mse": "reference_error",
    "actor/ref_dropped_mse": "reference_error_dropped",
    "actor/grad_norm": "actor_grad_norm",
    "replay/done_rate": "terminal_ratio",
}
"""RLinf's, xense's and others' names of our scalars, drawn over critic updates."""

ROW_ALIASES: Mapping[str, str] = {
    "replay/transition_count": "rows",
    "replay/intervention_rate": "human_rate",
    "replay/replay_evicted": "rows_evicted",
    "rlt/update_step": "critic_updates",
    "rlt/actor_updates_run": "actor_updates",
    "rlt/pending_update_budget": "update_debt",
    "rlt/ready_for_online": "gate_open",
}
"""Names of our scalars that count data, drawn over rows received."""

PHASE_ALIASES: Mapping[str, str] = {
    "env/success_once": "success",
    "env/episode_len": "steps",
    "env/success_no_intervened": "unaided",
    "env/intervened_steps": "human_steps",
}
"""RLinf's names of a labelled phase's facts (`PhaseOutcome`), drawn over phases, as one episode of practice is one."""


class Metrics:
    """Writes `learner/<field>` for every scalar of `LearnerStats` and the aliases above to TensorBoard, each over its
    own count (critic updates, rows, phases), alarms as text, and whole rows to a file of JSON lines.

    warn is told once when writing fails, a full disk for instance, and nothing is written any more: what cannot be
    plotted must not stop learning. phases: finished ones that an earlier life of the run has drawn.
    Raises ImportError, naming the pip extra, where tensorboard is missing.
    """

    def __init__(
        self, directory: Path, lines: Path | None = None, warn: Callable[[str], None] = print, phases: int = 0
    ) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError(f"tensorboard is missing: pip install 'rlt_ros[learn]' ({error})") from error
        self._writer: Any = SummaryWriter(str(directory), flush_secs=10)
        self._lines, self._warn = lines, warn
        self._last, self._phases = -1, phases
        self._alarms: Mapping[str, str] = {}
        self._failed = False

    def write(
        self, stats: LearnerStats, outcomes: Iterable[PhaseOutcome] = (), alarms: Mapping[str, str] | None = None
    ) -> None:
        """One point per scalar, and one per phase that is new; nothing if neither rows nor updates nor alarms are new.

        outcomes, alarms: of the learner (`Learner.outcomes`, `Learner.alarms`).
        """
        progress, alarms = stats.rows_received + stats.critic_updates, alarms or {}
        if self._failed or (progress == self._last and set(alarms) == set(self._alarms)):
            return
        self._last = progress
        try:
            self._scalars(stats)
            self._outcomes(outcomes)
            self._texts(stats, alarms)
            self._line(stats)
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Flush and close the event file."""
        try:
            self._writer.close()
        except OSError as error:
            self._give_up(error)

    def _scalars(self, stats: LearnerStats) -> None:
        values = scalars(stats)
        for name, value in values.items():
            self._writer.add_scalar(f"learner/{name}", value, stats.critic_updates)
        for aliases, step in ((UPDATE_ALIASES, stats.critic_updates), (ROW_ALIASES, stats.rows_received)):
            for alias, name in aliases.items():
                if name in values:
                    self._writer.add_scalar(alias, values[name], step)
        for i, value in enumerate(stats.q_members):
            self._writer.add_scalar(f"actor/q_value_{i}", value, stats.critic_updates)

    def _outcomes(self, outcomes: Iterable[PhaseOutcome]) -> None:
        for outcome in outcomes:
            if outcome.number <= self._phases:
                continue
            self._phases = outcome.number
            if outcome.labelled:
                for alias, name in PHASE_ALIASES.items():
                    self._writer.add_scalar(alias, float(getattr(outcome, name)), outcome.number)

    def _texts(self, stats: LearnerStats, alarms: Mapping[str, str]) -> None:
        for name in sorted(set(alarms) ^ set(self._alarms)):
            self._writer.add_text(f"alarms/{name}", alarms.get(name, "cleared"), stats.critic_updates)
        self._alarms = dict(alarms)

    def _line(self, stats: LearnerStats) -> None:
        if self._lines is None:
            return
        row = {"time": time.time()} | {name: _plain(value) for name, value in asdict(stats).items()}
        with self._lines.open("a") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")

    def _give_up(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            self._warn(f"metrics are not written any more, learning goes on: {error}")


def scalars(stats: LearnerStats) -> dict[str, float]:
    """The numbers of the statistics that are known, by name."""
    numbers = {name: value for name, value in asdict(stats).items() if isinstance(value, (int, float))}
    return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}


def _plain(value: Any) -> Any:
    # JSON knows no NaN and no infinity: null, as what nothing has measured.
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Written alarms: what was seen of learning, what is expected, and what to do about it.

Each is a pure function of statistics, settings and limits. Limits come from runs of the peg insertion demo that learned
and from runs with one fault each (docs/diagnostics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rlt_ros.ranges import Amount, Count, Share
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.stats import LearnerStats


@dataclass(frozen=True)
class AlarmLimits:
    """When an alarm is raised. It is cleared once its figure is `alarm_clear` times inside the limit again."""

    alarm_min_updates: Count = 2000  # critic updates before any alarm: a young critic disagrees with everything
    alarm_clear: Share = 0.8  # share of the limit below which a raised alarm is cleared
    alarm_q_excess: Amount = 0.05  # largest distance of Q to the reachable return, in 95 % of the rows
    alarm_q_over_return: Amount = 0.45  # largest mean of Q above the Monte-Carlo return
    alarm_q_under_return: Amount = 0.2  # largest mean of Q below the Monte-Carlo return
    alarm_q_correlation: Share = 0.3  # smallest correlation of Q with the Monte-Carlo return
    alarm_copy_ratio: Amount = 20.0  # largest ratio of the actor's errors without and with the reference as input
    alarm_copy_residual: Amount = 0.02  # smallest RMS distance of actor and reference, in units of the action space
    alarm_sensitivity: Amount = 0.001  # smallest spread of Q over actions within the exploration noise
    alarm_pull_low: Amount = 0.003  # smallest pull of Q away from the reference, in units of the action space
    alarm_pull_high: Amount = 3.0  # largest pull of Q away from the reference, in units of the action space
    alarm_residual: Amount = 0.6  # largest RMS distance of actor and reference, in units of the action space
    alarm_updates_per_row: Amount = 20.0  # most critic updates per row received
    alarm_silence: Amount = 600.0  # longest time without a new row, seconds

    def __post_init__(self) -> None:
        if not 0.0 < self.alarm_clear <= 1.0:
            raise ValueError(f"alarm_clear is {self.alarm_clear}; expected in (0, 1]")
        for name, value in vars(self).items():
            if value < 0:
                raise ValueError(f"{name} is {value}; expected not negative")


@dataclass(frozen=True)
class Finding:
    """How a figure stands to its limit: 1 at the limit, more beyond it. text: seen, expected, what to do."""

    ratio: float
    text: str


Check = Callable[[LearnerStats, AgentConfig, AlarmLimits], tuple[Finding, ...]]


def at_most(value: float, limit: float, text: str) -> Finding:
    """A figure that should not rise above a limit; one that is not known raises nothing."""
    if math.isnan(value):
        return Finding(0.0, text)
    return Finding(max(value, 0.0) / limit if limit else math.inf, text)


def at_least(value: float, limit: float, text: str) -> Finding:
    """A figure that should not fall below a limit; one that is not known raises nothing."""
    if math.isnan(value):
        return Finding(0.0, text)
    return Finding(limit / value if value > 0 else math.inf, text)


def q_range(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """Q is no return that could be earned (`method.md` C.10)."""
    text = (
        f"Q lies {s.q_excess:.3g} outside the reachable return [{c.q_low:g}, {c.q_high:g}] (limit "
        f"{limits.alarm_q_excess:g}; smallest {s.q_min:.3g}, largest {s.q_max:.3g}): are the rewards within q_low and "
        "q_high? Otherwise lower learning_rate or utd, or raise critics"
    )
    return (at_most(s.q_excess, limits.alarm_q_excess, text),)


def q_return(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """Q disagrees with what the phases earned (`method.md` C.12b)."""
    over, under, least = limits.alarm_q_over_return, limits.alarm_q_under_return, limits.alarm_q_correlation
    error, correlation = s.q_return_error, s.q_return_correlation
    return (
        at_most(
            error,
            over,
            f"Q exceeds the Monte-Carlo return by {error:.3g} (limit {over:g}; up to 0.2 is usual while the policy "
            "gets better than its old rows): lower utd, use more critics, or check that failures are labelled",
        ),
        at_most(
            -error,
            under,
            f"Q stays {-error:.3g} below the Monte-Carlo return (limit {under:g}): outcomes do not reach the early "
            "rows. Check that the last row of a success carries the reward; raise gamma or tau, or wait for updates",
        ),
        at_least(
            correlation,
            least,
            f"Q and the Monte-Carlo return correlate by {correlation:.3g} (expected above {least:g}; 0.9 is usual): "
            "the critics do not tell good rows from bad. Check labels and rewards, then whether z and proprio show "
            "what decides the outcome",
        ),
    )


def copy(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """The actor passes its reference on (`method.md` C.21)."""
    residual = math.sqrt(s.reference_error)
    ratio = s.reference_error_dropped / s.reference_error if s.reference_error else math.nan
    most, least = limits.alarm_copy_ratio, limits.alarm_copy_residual
    found = at_least(
        residual,
        least,
        f"the actor copies the reference: {residual:.2g} of the action range apart (expected above {least:g}, "
        f"{s.residual_mm:.2g} mm per step): lower bc_beta or raise q_weight, unless the reference cannot be improved",
    )
    blind = at_most(
        ratio if c.reference_dropout > 0.0 else math.nan,
        most,
        f"the actor copies the reference: its squared error is {ratio:.3g} times larger without it as input (limit "
        f"{most:g}; {s.reference_error_dropped:.2g} against {s.reference_error:.2g}): raise reference_dropout, or "
        "collect corrections by a person, and check that z and proprio show what the reference sees",
    )
    return found, blind


def action(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """The critics do not see the action, so the actor climbs noise (`method.md` C.12c)."""
    least = limits.alarm_sensitivity * (c.q_high - c.q_low)
    text = (
        f"the action has no influence on Q: it varies by {s.q_action_sensitivity:.2g} over actions within the "
        f"exploration noise of sigma {c.rollout_noise:g} (expected above {least:.2g}; 0.01 is usual): raise "
        "rollout_noise, collect corrections by a person, or check that the executed actions reach the rows"
    )
    return (at_least(s.q_action_sensitivity, least, text),)


def weights(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """One of the two terms of Eq. 5 decides alone (`method.md` C.14, C.18, C.20)."""
    low, high = limits.alarm_pull_low, limits.alarm_pull_high
    residual, most = math.sqrt(s.reference_error), limits.alarm_residual
    seen = (
        f"Q draws the actor {s.q_pull:.2g} of the action range from the reference (expected {low:g} to {high:g}; "
        f"q_weight {s.q_weight:g}, bc_beta {s.bc_weight:g} on a SUM over the chunk; 0.08 is usual)"
    )
    weak = at_least(s.q_pull, low, f"BC outweighs Q: {seen}: lower bc_beta or raise q_weight")
    strong = at_most(s.q_pull, high, f"Q outweighs BC: {seen}: raise bc_beta or lower q_weight")
    away = (
        f"Q outweighs BC: the actor is {residual:.2g} of the action range away from the reference (limit {most:g}, "
        f"0.1 is usual; largest {s.residual_mm_max:.2g} mm per step): raise bc_beta or lower q_weight"
    )
    return weak, strong, at_most(residual, most, away)


def rows(s: LearnerStats, c: AgentConfig, limits: AlarmLimits) -> tuple[Finding, ...]:
    """Rows run out: none come any more, or updates run ahead of them (`method.md` C.14, C.19)."""
    most, longest = limits.alarm_updates_per_row, limits.alarm_silence
    ahead = (
        f"rows run out: {s.updates_per_row:.3g} critic updates per row (limit {most:g}; 5 is usual): the same "
        f"{s.rows} rows are learned from again and again. Lower utd, or practise longer"
    )
    silent = (
        f"rows run out: none for {s.seconds_since_row:.0f} s (limit {longest:g} s), so nothing is learned. Expected "
        "while evaluating or pausing; otherwise check that phases are begun and labelled, and rows_dropped and "
        "resent of the actor"
    )
    return at_most(s.updates_per_row, most, ahead), at_most(s.seconds_since_row, longest, silent)


CHECKS: Mapping[str, Check] = {
    "alarm_q": q_range,
    "alarm_q_return": q_return,
    "alarm_copy": copy,
    "alarm_action": action,
    "alarm_weights": weights,
    "alarm_rows": rows,
}
"""Field of `LearnerStats` that is 1 while the alarm is raised -> its check."""


class Alarms:
    """Which alarms are raised. Looks at statistics, remembers only what was raised."""

    def __init__(self, limits: AlarmLimits) -> None:
        self._limits = limits
        self.texts: dict[str, str] = {}
        """Name of each raised alarm (of `CHECKS`) -> its text, as of the last look. Replaced, never changed."""

    def look(self, stats: LearnerStats, config: AgentConfig) -> LearnerStats:
        """The statistics with their alarm fields set."""
        texts = {}
        if stats.critic_updates >= self._limits.alarm_min_updates:
            for name, check in CHECKS.items():
                limit = self._limits.alarm_clear if name in self.texts else 1.0
                found = [finding for finding in check(stats, config, self._limits) if finding.ratio > limit]
                if found:
                    texts[name] = ". ".join(self._told(finding) for finding in found)
        self.texts = texts
        flags = {name: float(name in texts) for name in CHECKS}
        return replace(stats, **flags, alarms="; ".join(texts.values()))

    def _told(self, finding: Finding) -> str:
        still = f" (better now, over at {self._limits.alarm_clear:.0%} of the limit)"
        return finding.text + (still if finding.ratio <= 1.0 else "")


class AlarmNews:
    """Tells each alarm once: when it is raised, and when it is over."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def since(self, texts: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Lines for alarms raised and for alarms cleared since the last call. texts: of `Alarms`."""
        raised = [f"{name}: {text}" for name, text in texts.items() if name not in self._told]
        cleared = [f"{name}: cleared" for name in sorted(self._told - set(texts))]
        self._told = set(texts)
        return raised, cleared


def raised(stats: Any) -> list[str]:
    """Names of the alarms raised in statistics: `LearnerStats`, the message, or what has their fields."""
    return [name for name in CHECKS if getattr(stats, name, 0.0)]

"""What a person reads: the status line of a run and its summary."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rlt_ros.files import write_whole
from rlt_ros.loop.session import DONE, PRACTICE, Progress
from rlt_ros.rl.alarms import raised
from rlt_ros.types import Driver

TITLES = {
    "base": "base VLA",
    "base_with_noise": "base VLA with the exploration noise",
    "final": "learned actor",
    "final_with_noise": "learned actor with the exploration noise",
    "expert": "scripted expert",
}


class News:
    """Which lines are worth printing: what is new, and after `again` seconds what still is so."""

    def __init__(self, again: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._again, self._clock = again, clock
        self._line, self._at = "", 0.0

    def worth(self, line: str) -> bool:
        """Whether to print it now."""
        now = self._clock()
        if line == self._line and now - self._at < self._again:
            return False
        self._line, self._at = line, now
        return True


SILENCE = 3.0
"""Seconds without an answer from another node that the status line mentions."""


def status_line(
    progress: Progress,
    control_rate: float,
    actor: Any | None,
    learner: Any | None,
    links: Iterable[Any] = (),
    driver: Driver | None = None,
) -> str:
    """One line: stage, episodes, success of the last 20, who drives, rows, updates, weight age, links, alarms.

    actor, learner: the newest ActorStats and LearnerStats (any object with their fields), None before the first. links:
    the newest LinkStats of each node on another machine. driver: of the last executed step.
    """
    parts = [_stage(progress, control_rate), f"episode {progress.episode}", f"last 20: {_percent(progress.recent)}"]
    if driver is not None:
        parts.append("the arm holds" if driver is Driver.HOLD else f"{driver.name} drives")
    if learner is not None:
        parts.append(f"rows {learner.rows}")
        debt = f" (+{learner.update_debt})" if learner.update_debt else ""
        parts.append(f"updates {learner.critic_updates}{debt}")
    if actor is not None:
        age = f"weights v{actor.weights_version}, {actor.weights_age:.1f} s old"
        parts.append(age if actor.weights_version else "no weights yet")
    if learner is not None and not learner.gate_open:
        parts.append(f"gate: {learner.gate_reason}")
    parts += [link_text(link) for link in links]
    alarms = [] if learner is None else raised(learner)
    if alarms:
        parts.append(f"ALARM (the learner's log says more): {', '.join(a.removeprefix('alarm_') for a in alarms)}")
    return " | ".join(parts)


def link_text(link: Any) -> str:
    """What a LinkStats says, for the terminal."""
    where = f"{link.node.rpartition('/')[2]} on {link.host}"
    if link.silence > SILENCE:
        return f"NO ANSWER from {where} for {link.silence:.0f} s"
    return f"{where}: {1e3 * link.round_trip:.1f} ms, clock {1e3 * link.clock_offset:+.1f} ms"


def _stage(progress: Progress, control_rate: float) -> str:
    minutes = control_rate * 60.0
    if progress.stage == DONE:
        return "done, waiting for the learner's last figures and checkpoint"
    if progress.stage != PRACTICE:
        return f"evaluating {TITLES.get(progress.stage, progress.stage)}"
    return f"practice {progress.practice_steps / minutes:.1f} of {progress.practice_total / minutes:.1f} min"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.0f} %"


def summary_text(summary: Mapping[str, Any], run_dir: Path | None) -> str:
    """The summary for the terminal, several lines. run_dir: None if nothing was written."""
    lines = score_lines(summary)
    lines.append(f"robot time {summary['robot_time_s'] / 60:.1f} min, wall time {summary['wall_time_s'] / 60:.1f} min")
    lines += _learning(summary) if "transitions" in summary else _policy(summary)
    if run_dir is not None:
        lines.append(f"run directory {run_dir}")
    if "learner_files" in summary:
        lines.append(f"the learner's files {summary['learner_files']}")
    if summary.get("interrupted"):
        lines.append("interrupted")
    return "\n".join(lines)


def score_lines(summary: Mapping[str, Any]) -> list[str]:
    """A line for each evaluation in a summary."""
    scores = [(title, summary[name]) for name, title in TITLES.items() if name in summary]
    scores += [(f"learned actor at {then['minutes']:g} min", then["final"]) for then in summary.get("moments", ())]
    scores += [(f"base VLA with noise {sigma}", score) for sigma, score in summary.get("dither", {}).items()]
    width = max(len(title) for title, _ in scores)
    return [f"{title:<{width}}  {_score(score)}" for title, score in scores]


def _learning(summary: Mapping[str, Any]) -> list[str]:
    rows, updates, weights = summary["transitions"], summary["updates"], summary["weights"]
    return [
        f"transitions {rows['published']} published, {rows['received']} received",
        f"updates {updates['critic']} critic, {updates['actor']} actor",
        f"weights {weights['published']} published, {weights['applied']} applied",
    ]


def _policy(summary: Mapping[str, Any]) -> list[str]:
    return [f"policy {summary['policy']}, weights version {summary['weights_version']}"]


def _score(score: Mapping[str, Any]) -> str:
    if not score["episodes"]:
        return "not evaluated"
    successes, episodes = score["successes"], score["episodes"]
    low, high = success_interval(successes, episodes)
    rate = f"{successes:>3} of {episodes} ({100.0 * successes / episodes:.0f} %, {100 * low:.0f} to {100 * high:.0f} %)"
    repeated = f", {score['invalid']} repeated" if score.get("invalid") else ""
    return f"{rate}, {score['mean_steps']:.0f} steps{repeated}"


def success_interval(successes: int, episodes: int) -> tuple[float, float]:
    """95 % Wilson interval of a success rate, 0..1."""
    from scipy.stats import binomtest  # loads for a second; nodes print one table

    interval = binomtest(successes, episodes).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file: it is whole or what it was before."""
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode())

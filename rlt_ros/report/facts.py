"""The numbers of a report: scores, how the run ended, what it was made with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlt_ros.loop.latency import MEANINGS
from rlt_ros.loop.report import TITLES
from rlt_ros.loop.session import PRACTICE
from rlt_ros.report.bands import WINDOW, wilson
from rlt_ros.report.episodes import Episode, practised
from rlt_ros.report.lines import number
from rlt_ros.report.run import Run
from rlt_ros.rl.alarms import CHECKS

UNKNOWN = "-"


@dataclass(frozen=True)
class Score:
    """Of an evaluation. steps: mean, failures as the time limit."""

    successes: int
    episodes: int
    steps: float

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the rate, Wilson; 0 to 1 without an episode."""
        return wilson(self.successes, self.episodes) if self.episodes else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.episodes:
            return UNKNOWN
        low, high = self.interval
        rate = 100.0 * self.successes / self.episodes
        return f"{self.successes} of {self.episodes}: {rate:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def score_of(run: Run, stage: str) -> Score | None:
    """Of the summary; without one, of the episodes that were evaluated until the run ended."""
    if stage in run.summary:
        return _of_entry(run.summary[stage])
    return _of_episodes([e for e in run.episodes if e.stage == stage and e.counted], run.time_limit)


def scores(run: Run) -> dict[str, Score]:
    """Title -> score, in the order in which they are read."""
    found = {title: score_of(run, stage) for stage, title in TITLES.items()}
    found |= {f"learned actor at {when:g} min": score for when, _, score in _asked_moments(run)}
    dither = run.summary.get("dither")
    if isinstance(dither, dict):
        found |= {f"base VLA with noise {sigma}": _of_entry(entry) for sigma, entry in dither.items()}
    return {title: score for title, score in found.items() if score is not None and score.episodes}


def moments(run: Run) -> list[tuple[float, Score]]:
    """Minutes of practice and the score of the learned actor then; the last one after all of practice."""
    found = [(minutes, score) for _, minutes, score in _asked_moments(run)]
    final, end = score_of(run, "final"), _minutes(run)
    if final is not None and final.episodes and all(abs(when - end) > 0.5 for when, _ in found):
        found.append((end, final))
    return found


def _asked_moments(run: Run) -> list[tuple[float, float, Score]]:
    """Minutes asked for, minutes practised by then, score."""
    entries = run.summary.get("moments")
    found = []
    for entry in entries if isinstance(entries, list) else ():
        score = _of_entry(entry.get("final")) if isinstance(entry, dict) else None
        if score is not None and score.episodes:
            found.append((number(entry, "minutes"), number(entry, "practised_minutes"), score))
    return [moment for moment in found if np.isfinite(moment[:2]).all()]


def _of_entry(entry: Any) -> Score | None:
    if not isinstance(entry, Mapping):
        return None
    episodes, successes = (number(entry, name, 0.0) for name in ("episodes", "successes"))
    return Score(int(successes), int(episodes), number(entry, "mean_steps")) if 0 <= successes <= episodes else None


def _of_episodes(episodes: list[Episode], limit: int | None) -> Score | None:
    if not episodes:
        return None
    steps = [e.steps if e.success or limit is None else limit for e in episodes]
    return Score(sum(e.success for e in episodes), len(episodes), float(np.mean(steps)))


def ending(run: Run) -> tuple[str, bool]:
    """How the run ended, and whether that is what was planned."""
    if run.summary:
        interrupted = bool(run.summary.get("interrupted"))
        return ("interrupted; the summary has what there was" if interrupted else "ended as planned"), not interrupted
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.last_sign))
    last = {name: lines[-1] for name, lines in run.lives.items() if lines}
    ends = [f"{name} {line['how']}" for name, line in last.items() if "how" in line]
    if last and len(ends) == len(last):
        return f"no summary: {', '.join(ends)}", False
    return f"no summary: killed or still running; last sign of life {when}", False


def tiles(run: Run) -> Iterator[tuple[str, str, str]]:
    """What is to be seen at one glance: heading, figure, a word on it."""
    before, after = score_of(run, "base"), score_of(run, "final")
    if after is not None and after.episodes:
        yield "learned actor", _percent(after), f"{after.successes} of {after.episodes}, {_number(after.steps)} steps"
    if before is not None and before.episodes:
        yield "base VLA", _percent(before), f"{before.successes} of {before.episodes}, {_number(before.steps)} steps"
    last = practised(run.episodes)[-WINDOW:]
    if last:
        rate = sum(e.success for e in last) / len(last)
        yield "practice, last 20", f"{100 * rate:.0f} %", f"{len(practised(run.episodes))} labelled episodes"
    wall = number(run.summary, "wall_time_s") / 60.0
    in_all = f", {wall:.0f} min in all by the clock" if np.isfinite(wall) else ""
    yield "practice", f"{_minutes(run):.1f} min", f"of robot time{in_all}"
    yield "rows", _last(run, "rows_received"), f"{_last(run, 'critic_updates')} critic updates"
    yield "person", *_help(run)
    yield "alarms", *_alarms(run)


def _percent(score: Score) -> str:
    return f"{100 * score.successes / score.episodes:.0f} %"


def _number(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else UNKNOWN


def _minutes(run: Run) -> float:
    return max((e.minutes for e in run.episodes if e.stage == PRACTICE), default=0.0)


def _last(run: Run, name: str) -> str:
    column = run.curves[name]
    known = column[np.isfinite(column)]
    return f"{known[-1]:.0f}" if len(known) else UNKNOWN


def _help(run: Run) -> tuple[str, str]:
    drivers = [e.drivers for e in run.episodes if e.stage == PRACTICE and e.drivers]
    steps = sum(sum(d.values()) for d in drivers)
    if not steps:
        return UNKNOWN, "of the critical steps"
    return f"{100 * sum(d.get('HUMAN', 0) for d in drivers) / steps:.0f} %", "of the critical steps"


def _alarms(run: Run) -> tuple[str, str]:
    if not len(run.curves.minutes):
        return UNKNOWN, "no metrics"
    raised = [name.removeprefix("alarm_") for name in CHECKS if (run.curves[name] > 0).any()]
    standing = [name.removeprefix("alarm_") for name in CHECKS if run.curves[name][-1] > 0]
    words = (f"{name} (at the end)" if name in standing else name for name in raised)
    return str(len(raised)), ", ".join(words) or "none raised"


def latency_rows(run: Run) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Name, median, 99th percentile, largest [ms], count, meaning."""
    for name, histogram in run.latencies.items():
        marks = (histogram.quantile(0.5), histogram.quantile(0.99), histogram.largest)
        shown = (f"{1e3 * value:.{0 if value >= 0.1 else 1}f}" for value in marks)
        yield name.replace("_", " "), *shown, str(int(histogram.counts.sum())), MEANINGS.get(name, "")


def made_with(run: Run) -> dict[str, str]:
    """Versions, machines, times of the processes."""
    found: dict[str, str] = {}
    for name, lines in run.lives.items():
        starts = [line for line in lines if "began" in line]
        for place, line in enumerate(starts):
            which = f"{name}, start {place + 1} of {len(starts)}" if len(starts) > 1 else name
            words = (_when(line), _flat(line.get("machine")), _flat(line.get("versions")))
            found[which] = "; ".join(filter(None, words))
    return found


def _when(line: Mapping[str, Any]) -> str:
    began = number(line, "began")
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began)) if np.isfinite(began) else ""
    return f"{stamp} on {line.get('host', UNKNOWN)}"


def _flat(values: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items()) if isinstance(values, Mapping) else ""

"""What the learner said of itself, as columns over the robot time of practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlt_ros.loop.session import PRACTICE
from rlt_ros.report.episodes import Episode
from rlt_ros.types import Label

POINTS = 3000
"""More cannot be told apart in a plot and would make a page of a day's practice slow."""
LEARNED = (Label.SUCCESS.name, Label.FAILURE.name, Label.ABORT.name)


@dataclass(frozen=True)
class Curves:
    """minutes: (n,) robot time of practice at each line. columns: name -> (n,), NaN where nothing was measured."""

    minutes: np.ndarray
    columns: Mapping[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        """A column, all NaN if no line has it."""
        return self.columns.get(name, np.full(len(self.minutes), np.nan))

    def known(self, *names: str) -> bool:
        """Whether at least one value of one of these is known."""
        return any(np.isfinite(self[name]).any() for name in names)


def curves(lines: Sequence[Mapping[str, Any]], episodes: Sequence[Episode]) -> Curves:
    """Columns of the lines of metrics.jsonl; of more than POINTS every n-th and the last."""
    every = len(lines) // POINTS + 1
    lines = [line for place, line in enumerate(lines, 1) if place % every == 0 or place == len(lines)]
    names = {name for line in lines for name, value in line.items() if isinstance(value, (int, float))}
    columns = {name: _column(lines, name) for name in names}
    return Curves(_minutes(columns, episodes, len(lines)), columns)


def _column(lines: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    values = [line.get(name) for line in lines]
    column = np.array([v if isinstance(v, (int, float)) else np.nan for v in values], np.float64)
    return np.where(np.isfinite(column), column, np.nan)


def _minutes(columns: Mapping[str, np.ndarray], episodes: Sequence[Episode], count: int) -> np.ndarray:
    """By wall time where both sides have it; else by the count of phases that the learner has seen."""
    practice = [e for e in episodes if e.stage == PRACTICE]
    times = np.array([e.time for e in practice])
    if len(times) > 1 and "time" in columns and np.isfinite(times).all() and (np.diff(times) >= 0).all():
        return np.interp(columns["time"], times, [e.minutes for e in practice], left=0.0)
    ends = np.array([0.0, *(e.minutes for e in practice if e.label in LEARNED)])
    phases = columns.get("phases", np.zeros(count))
    return ends[np.clip(np.nan_to_num(phases).astype(int), 0, len(ends) - 1)]

"""Which message of each topic goes into which frame of which episode, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.data.bags.timeline import NOTHING, Timeline, grid

NAMED = 3
"""Faults of an episode that are named one by one; the others are counted."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a run that becomes an episode: ns, without `end`. success: how it ended, None if nobody said.

    note: what a person should know of it although it is fit, else empty.
    """

    name: str
    start: int
    end: int
    success: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Episode:
    """Frames of a segment.

    ticks: int64 (t,), ns. picks: topic to int64 (t,), number of the message. ages: topic to float64 (t,), s, of that
    message at the tick, NaN where there is none. faults: of ticks, one sentence each.
    """

    segment: Segment
    ticks: np.ndarray
    picks: dict[str, np.ndarray]
    ages: dict[str, np.ndarray]
    faults: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ticks)

    def repeated(self, topic: str) -> int:
        """Ticks that take the same message of a topic as the tick before."""
        return int((np.diff(self.picks[topic]) == 0).sum())


def plan_episode(
    segment: Segment,
    timelines: Mapping[str, Timeline],
    rate: float,
    offset: float,
    max_age: float,
    following: Collection[str] = (),
    pace: str = "",
) -> Episode:
    """Latest message of every topic before each tick of a segment.

    rate: Hz. offset: s, of the first tick from the segment's start. max_age: s; a sample as old as that is a fault.
    following: topics of which it is the latest within a period after the sample of the topic `pace`, and its age that
    at the end of this period.
    """
    ticks = grid(segment.start, segment.end, rate, offset)
    after = _at(timelines[pace].stamps, timelines[pace].latest(ticks)) + round(1e9 / rate) - 1 if following else ticks
    picks, ages, faults = {}, {}, []
    for topic, timeline in timelines.items():
        times = after if topic in following else ticks
        latest = timeline.latest(times)
        known = latest != NOTHING
        ages[topic] = np.where(known, (times - _at(timeline.stamps, latest)) / 1e9, np.nan)
        picks[topic] = np.where(known, _at(timeline.numbers, latest), NOTHING)
        faults += _faults(topic, ticks, ages[topic], max_age)
    return Episode(segment, ticks, picks, ages, faults or ([] if len(ticks) else ["no tick falls into it"]))


def _at(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return values[np.maximum(indices, 0)] if len(values) else np.zeros(len(indices), np.int64)


def _faults(topic: str, ticks: np.ndarray, ages: np.ndarray, max_age: float) -> list[str]:
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(np.isnan(ages) | (ages >= max_age))
    named = [_fault(topic, int(i), (ticks[i] - ticks[0]) / 1e9, ages[i], max_age) for i in wrong[:NAMED]]
    return named + ([f"{topic}: {len(wrong) - NAMED} further frames like these"] if len(wrong) > NAMED else [])


def _fault(topic: str, frame: int, time: float, age: float, max_age: float) -> str:
    what = "nothing before it" if np.isnan(age) else f"latest sample is {age:.3f} s old, limit {max_age:.3f} s"
    return f"frame {frame} at {time:.3f} s: {topic}: {what}"

"""When the messages of a topic were, and which of them is the latest at each tick of a regular grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ABSURD = 24 * 3600 * 1_000_000_000
"""ns; a stamp further than a day from the topic's median was never a time (field report B34)."""
NOTHING = -1
"""Number of a message where there is none."""
OFFSETS = 8


@dataclass(frozen=True)
class Timeline:
    """Stamps of one topic.

    stamps: int64 (n,), ns, strictly rising. numbers: int64 (n,), number of each message in its topic. absurd,
    unstamped, backward: messages left out because their stamp lies days off, is 0, or is not newer than the one before.
    """

    stamps: np.ndarray
    numbers: np.ndarray
    absurd: int = 0
    unstamped: int = 0
    backward: int = 0

    @staticmethod
    def of(stamps: list[int]) -> Timeline:
        """The timeline of stamps in the order of their receipt; what cannot be used is counted and left out."""
        # Differences of two stamps near +-2^63 do not fit into int64.
        every = np.array(stamps, dtype=np.float64)
        stamped = every > 0
        middle = np.median(every[stamped]) if stamped.any() else 0.0
        sane = stamped & (np.abs(every - middle) < ABSURD)
        numbers = np.flatnonzero(sane)
        exact = np.array([stamps[i] for i in numbers], dtype=np.int64)
        rising = exact > np.concatenate([[-1], np.maximum.accumulate(exact)[:-1]]) if len(exact) else exact.astype(bool)
        unstamped = int((~stamped).sum())
        return Timeline(exact[rising], numbers[rising], int((~sane).sum()) - unstamped, unstamped, int((~rising).sum()))

    def __len__(self) -> int:
        return len(self.stamps)

    def latest(self, ticks: np.ndarray) -> np.ndarray:
        """int64 (t,): index of the newest stamp at or before each tick (ns), NOTHING where there is none."""
        return np.searchsorted(self.stamps, ticks, side="right") - 1

    def rate(self) -> float:
        """Hz, from the median interval; 0 with fewer than two messages."""
        return 1e9 / float(np.median(np.diff(self.stamps))) if len(self) > 1 else 0.0

    def jitter(self) -> tuple[float, float]:
        """Standard deviation of the intervals, and the largest distance of one from their median, s."""
        if len(self) < 2:
            return 0.0, 0.0
        intervals = np.diff(self.stamps) / 1e9
        return float(intervals.std()), float(np.abs(intervals - np.median(intervals)).max())


def grid(start: int, end: int, rate: float, offset: float = 0.0) -> np.ndarray:
    """int64 (t,), ns: ticks of a rate (Hz) from `start` + offset (s) up to and without `end`; none drifts."""
    first = start + round(offset * 1e9)
    count = int((end - first) * rate / 1e9) + 2
    ticks = first + np.round(np.arange(max(count, 0)) * (1e9 / rate)).astype(np.int64)
    return ticks[ticks < end]


def best_offset(timeline: Timeline, spans: list[tuple[int, int]], rate: float) -> float:
    """Offset of the grid, s, at which the fewest of a topic's messages are used twice or not at all.

    Without it the ticks of a stream of the same rate lie just where its messages come, so that jitter decides which
    message is the latest. The smallest of those that are equally good, of `OFFSETS` within a period.
    """
    candidates = [i / OFFSETS / rate for i in range(OFFSETS)]
    return min(candidates, key=lambda offset: (_unsteady(timeline, spans, rate, offset), offset))


def _unsteady(timeline: Timeline, spans: list[tuple[int, int]], rate: float, offset: float) -> int:
    used = [timeline.latest(grid(start, end, rate, offset)) for start, end in spans]
    stride = max(1, round(timeline.rate() / rate))
    return sum(int((np.diff(indices) != stride).sum()) for indices in used)

"""When the messages of a topic came, and how old they were then."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

STEADY = 0.5
"""s; a topic whose median interval is longer comes when something happens, so that it has no gaps."""
WIDE = 3.0
"""Intervals of the median beyond which there is a gap."""
SAME_CLOCK = 3600.0
"""s between stamp and receipt beyond which they are of two clocks, such as a simulator's."""


@dataclass
class Timing:
    """kind: message type. receipts, stamps: ns, in the order of receipt; a stamp of 0 is none. size: bytes in all."""

    kind: str
    receipts: list[int] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, receipt: int, stamp: int, size: int) -> None:
        """One more message."""
        self.receipts.append(receipt)
        self.stamps.append(stamp)
        self.size += size

    def __len__(self) -> int:
        return len(self.receipts)

    @property
    def intervals(self) -> np.ndarray:
        """Seconds between receipts."""
        return np.diff(np.array(self.receipts, dtype=np.int64)) / 1e9

    @property
    def rate(self) -> float:
        """Hz, from the median interval; 0 with fewer than two messages or where all came at once."""
        middle = float(np.median(self.intervals)) if len(self) > 1 else 0.0
        return 1.0 / middle if middle > 0.0 else 0.0

    def gaps(self) -> list[tuple[int, float]]:
        """Receipt before each gap [ns], and its length [s]; none of a topic that is not steady."""
        if not self.rate or 1.0 / self.rate > STEADY:
            return []
        wide = np.flatnonzero(self.intervals > WIDE / self.rate)
        return [(self.receipts[i], float(self.intervals[i])) for i in wide]

    def ages(self) -> np.ndarray:
        """Receipt minus stamp of each message that has one [s]; empty where they are of two clocks."""
        stamps, receipts = np.array(self.stamps, dtype=np.int64), np.array(self.receipts, dtype=np.int64)
        known = stamps > 0
        ages = (receipts[known] - stamps[known]) / 1e9
        return ages if len(ages) and np.abs(np.median(ages)) < SAME_CLOCK else np.zeros(0)

    @property
    def other_clock(self) -> bool:
        """There are stamps, but of another clock than the receipts."""
        return any(stamp > 0 for stamp in self.stamps) and not len(self.ages())

"""What a node hears: messages by topic, how often and how long ago."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Heard:
    """Of a topic since the last look. rate: Hz. age: s since its newest message. refused: messages not taken."""

    rate: float
    age: float
    refused: int

    def __str__(self) -> str:
        refused = f", {self.refused} refused" if self.refused else ""
        return f"{self.rate:.1f} Hz, last {self.age:.2f} s ago{refused}"


class Traffic:
    """Counts. A look begins a new interval."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._looked = clock, clock()
        self._counts: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._last: dict[str, float] = {}

    def came(self, topic: str) -> None:
        """A message has come."""
        self._counts[topic] += 1
        self._last[topic] = self._clock()

    def refused(self, topic: str) -> None:
        """It was not taken."""
        self._refused[topic] += 1

    def look(self) -> dict[str, Heard]:
        """Every topic from which something has ever come."""
        now = self._clock()
        seconds = max(now - self._looked, 1e-3)
        found = {
            topic: Heard(self._counts[topic] / seconds, now - last, self._refused[topic])
            for topic, last in self._last.items()
        }
        self._looked = now
        self._counts.clear()
        self._refused.clear()
        return found

"""How far the clock of another machine is from ours, out of messages there and back (as NTP does, RFC 5905)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

DRIFT = 100e-6
"""s/s, the largest difference in rate of two computers' clocks: RFC 5905 assumes 15 ppm, cheap crystals have 50."""


@dataclass(frozen=True)
class Exchange:
    """A request and its reply. Times in ns: sent and returned by our clock, received and answered by the other one."""

    sent: int
    received: int
    answered: int
    returned: int

    @property
    def offset(self) -> float:
        """Other clock minus ours [s], if both ways took equally long; wrong by half of `delay` at most."""
        return ((self.received - self.sent) + (self.answered - self.returned)) / 2e9

    @property
    def delay(self) -> float:
        """Time on both ways together [s]."""
        return ((self.returned - self.sent) - (self.answered - self.received)) / 1e9


@dataclass(frozen=True)
class Skew:
    """offset: other clock minus ours [s], right within uncertainty [s]. round_trip: median of what was kept [s]."""

    offset: float
    uncertainty: float
    round_trip: float


class SkewEstimator:
    """Trusts the exchange that says most: the one with the shortest way, unless it is long ago.

    A message that waited in a queue is late in one direction only and would be taken for skew by an average; the
    exchange with the least delay cannot be wrong by more than half of it. kept: exchanges considered.
    """

    def __init__(self, kept: int = 60) -> None:
        self._kept: deque[tuple[float, Exchange]] = deque(maxlen=kept)
        self.steps = 0
        """Times that one of the clocks was set, so that what was known before says nothing any more."""

    def add(self, exchange: Exchange, now: float) -> None:
        """Take an exchange; now: seconds of a steady clock. Raises ValueError on one whose delay is negative: a clock
        was set in the middle of it.
        """
        if exchange.delay < 0.0:
            raise ValueError(f"a message was under way for {exchange.delay} s; expected a positive time")
        if self._kept and not self._agrees(exchange, now):
            self._kept.clear()
            self.steps += 1
        self._kept.append((now, exchange))

    def at(self, now: float) -> Skew | None:
        """What is known now; None before the first exchange."""
        if not self._kept:
            return None
        uncertainty, exchange = min(((_uncertainty(e, now - then), e) for then, e in self._kept), key=lambda b: b[0])
        return Skew(exchange.offset, uncertainty, median(e.delay for _, e in self._kept))

    def _agrees(self, exchange: Exchange, now: float) -> bool:
        known = self.at(now)
        return abs(exchange.offset - known.offset) <= known.uncertainty + _uncertainty(exchange, 0.0)


def _uncertainty(exchange: Exchange, age: float) -> float:
    return exchange.delay / 2.0 + DRIFT * age

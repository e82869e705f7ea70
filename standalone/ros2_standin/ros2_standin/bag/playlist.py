"""The messages of a bag in the order and at the times at which they are played."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from rosbags.rosbag2 import Reader

ABSURD = 24 * 3600 * 1_000_000_000
"""ns. A stamp further than a day from those around it was never a time."""
_LOOKED_AT = 1000
NANOSECONDS = 1_000_000_000


@dataclass
class Playlist:
    """connections: what is played. offset, duration: s into the bag and from there on, None for all. until: ns.

    absurd: messages that were left out for their stamps, by topic. unread: stated, but not to be had.
    """

    connections: Collection[Any]
    offset: float = 0.0
    duration: float | None = None
    until: int | None = None
    absurd: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def messages(self, reader: Reader) -> Iterator[tuple[Any, int, bytes]]:
        """Connection, ns since the beginning, bytes. Counts what it leaves out."""
        self.absurd.clear()
        self.unread = Counter({c.topic: c.msgcount for c in self.connections})
        start = None
        for connection, stamp, data in self._sane(reader):
            start = stamp if start is None else start
            if stamp - start < self.offset * NANOSECONDS:
                continue
            if self._over(stamp, start):
                self.unread.clear()
                return
            yield connection, stamp, data
        self.unread = +self.unread

    def _over(self, stamp: int, start: int) -> bool:
        begin = start + self.offset * NANOSECONDS
        too_long = self.duration is not None and stamp - begin > self.duration * NANOSECONDS
        return too_long or (self.until is not None and stamp > self.until)

    def _sane(self, reader: Reader) -> Iterator[tuple[Any, int, bytes]]:
        every = self._counted(reader)
        first = list(islice(every, _LOOKED_AT))
        if not first:
            return
        # Stamps of one file come in their order, so that absurd ones are the first or the last.
        around = statistics.median_low(stamp for _, stamp, _ in first)
        for connection, stamp, data in chain(first, every):
            if abs(stamp - around) > ABSURD:
                self.absurd[connection.topic] += 1
                continue
            around = stamp if stamp > around else around
            yield connection, stamp, data

    def _counted(self, reader: Reader) -> Iterator[tuple[Any, int, bytes]]:
        for connection, stamp, data in reader.messages(connections=self.connections) if self.connections else ():
            self.unread[connection.topic] -= 1
            yield connection, stamp, data

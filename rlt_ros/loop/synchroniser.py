"""Puts streams of stamped messages together, by equal stamps (simulation) or by the newest of each (real cameras)."""

from __future__ import annotations

from collections import deque
from typing import Any

SECOND = 1_000_000_000


class BadStamp(ValueError):
    """A message whose stamp cannot be used: zero, or from another clock (field report A34)."""


class Stale(LookupError):
    """A stream without a message that is recent enough. age: ns, None if nothing has come yet."""

    def __init__(self, stream: str, age: int | None, limit: int) -> None:
        self.stream, self.age = stream, age
        have = "nothing received yet" if age is None else f"newest message is {age / SECOND:.3f} s old"
        super().__init__(f"{stream}: {have}, limit {limit / SECOND:.3f} s")


class _Notices:
    """Remembers what the log should hear."""

    def __init__(self) -> None:
        self._notices: list[str] = []

    def notices(self) -> list[str]:
        """What has happened since the last call, one sentence each."""
        drained, self._notices = self._notices, []
        return drained


class StampSynchroniser(_Notices):
    """Emits the set of all streams once every one holds the same stamp.

    Incomplete sets older than an emitted one are dropped and counted in `dropped`, messages that came again in
    `repeated`.
    """

    def __init__(self, streams: tuple[str, ...], depth: int = 16) -> None:
        super().__init__()
        self._streams = streams
        self._depth = depth
        self._sets: dict[int, dict[str, Any]] = {}
        self._emitted: deque[int] = deque(maxlen=depth)
        self._last: dict[str, int] = {}
        self.dropped = 0
        self.repeated = 0

    def add(self, stream: str, stamp: int, value: Any) -> dict[str, Any] | None:
        """Take one message; returns stream -> value when its stamp (ns) is complete. Raises BadStamp on stamp 0."""
        if stamp <= 0:
            raise BadStamp(f"{stream}: header stamp is {stamp}; the driver must fill it in")
        if self._went_back(stream, stamp):
            self._clear(stream, stamp)
        self._last[stream] = stamp
        if self._emitted and stamp <= self._emitted[-1]:
            self.repeated += 1
            return None
        held = self._sets.setdefault(stamp, {})
        if stream in held:
            self.repeated += 1
            return None
        held[stream] = value
        return self._emit(stamp) if len(held) == len(self._streams) else self._bound()

    def _went_back(self, stream: str, stamp: int) -> bool:
        """One publisher keeps its order, so an older stamp that was never part of a recent set means a new clock."""
        known = (*self._emitted, *self._sets)
        return stamp < self._last.get(stream, 0) and bool(known) and stamp < min(known)

    def _clear(self, stream: str, stamp: int) -> None:
        back = (self._last[stream] - stamp) / SECOND
        self._notices.append(f"{stream}: time went back by {back:.3f} s; buffers cleared")
        self._sets.clear()
        self._emitted.clear()
        self._last.clear()

    def _emit(self, stamp: int) -> dict[str, Any]:
        complete = self._sets.pop(stamp)
        for old in [s for s in self._sets if s < stamp]:
            del self._sets[old]
            self.dropped += 1
        self._emitted.append(stamp)
        return complete

    def _bound(self) -> None:
        while len(self._sets) > self._depth:
            del self._sets[min(self._sets)]
            self.dropped += 1


class LatestSynchroniser(_Notices):
    """The newest message of every stream at or before a moment, none older than max_age_ns."""

    def __init__(self, streams: tuple[str, ...], max_age_ns: int, depth: int = 64) -> None:
        super().__init__()
        self._max_age = max_age_ns
        self._held: dict[str, deque[tuple[int, Any]]] = {stream: deque(maxlen=depth) for stream in streams}
        self._now = 0

    def add(self, stream: str, stamp: int, value: Any, now: int) -> None:
        """Take one message; stamp and now in ns of the same clock.

        Messages that are not newer than the stream's last one are ignored: a driver that repeats one stamp goes stale.
        Raises BadStamp on a stamp of 0, further than 1 s ahead or further than 1 s (or max_age) in the past.
        """
        self._advance(now)
        if stamp <= 0:
            raise BadStamp(f"{stream}: header stamp is {stamp}; the driver must fill it in")
        if stamp - now > SECOND:
            raise BadStamp(f"{stream}: stamp lies {(stamp - now) / SECOND:.3f} s ahead; are the clocks in step?")
        if now - stamp > max(SECOND, self._max_age):
            raise BadStamp(f"{stream}: stamp lies {(now - stamp) / SECOND:.3f} s in the past; are the clocks in step?")
        held = self._held[stream]
        if not held or stamp > held[-1][0]:
            held.append((stamp, value))

    def snapshot(self, now: int) -> dict[str, Any]:
        """Stream -> newest value at or before now (ns). Raises Stale naming the first stream that is too old."""
        self._advance(now)
        return {stream: self._newest(stream, now) for stream in self._held}

    def _newest(self, stream: str, now: int) -> Any:
        stamp, value = next((item for item in reversed(self._held[stream]) if item[0] <= now), (None, None))
        age = None if stamp is None else now - stamp
        if age is None or age > self._max_age:
            raise Stale(stream, age, self._max_age)
        return value

    def _advance(self, now: int) -> None:
        if now < self._now:
            self._notices.append(f"time went back by {(self._now - now) / SECOND:.3f} s; buffers cleared")
            for held in self._held.values():
                held.clear()
        self._now = now

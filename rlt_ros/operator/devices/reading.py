"""What a device says at one moment, and when that was so."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rlt_ros.operator.devices.mapping import Button, DeviceMap

FRESH = 0.1
"""s after which a deflection has been let go of (field report B41)."""
LOST = 0.5
"""s of silence after which a device has to be taken anew: its deadman must be seen released first."""


@dataclass(frozen=True)
class Reading:
    """State of a device. at: s of a steady clock at which it was so. axes: as the device gives them. pressed: buttons
    that are held. fault: why nothing can be said, empty if something can.
    """

    at: float = float("-inf")
    axes: Mapping[int | str, float] = field(default_factory=dict)
    pressed: frozenset[Button] = frozenset()
    fault: str = ""

    def age(self, now: float) -> float:
        """Seconds since it was so."""
        return now - self.at

    def fresh(self, now: float) -> bool:
        """Whether it can be acted on."""
        return not self.fault and self.age(now) <= FRESH

    def lost(self, now: float) -> bool:
        """Whether the device is out of the person's hands."""
        return bool(self.fault) or self.age(now) > LOST


class Device(Protocol):
    """A device that can be looked at. No look may block."""

    name: str
    map: DeviceMap

    def read(self, now: float) -> Reading:
        """Its newest state; now: s of a steady clock."""

    def close(self) -> None:
        """Give it back."""


class Arrivals:
    """When that was so what a stamped message says, whatever clock stamps it.

    The message that was under way for the shortest time tells the two clocks apart; what comes later than it by that
    measure has waited somewhere. One with the stamp of the message before says nothing new: it is sent again, by a
    sender or a bridge that stands still. window: s that are looked at: after so long a clock that was set counts as
    right again.
    """

    def __init__(self, window: float = 10.0) -> None:
        self._window = window
        self._lowest: deque[tuple[float, float]] = deque()
        self._last = (0, 0.0)

    def at(self, stamp: int, now: float) -> float:
        """Seconds of our steady clock. stamp: ns, 0 for a sender that does not stamp."""
        if stamp == 0:
            return now
        if stamp != self._last[0]:
            self._last = stamp, self._new(stamp, now)
        return self._last[1]

    def _new(self, stamp: int, now: float) -> float:
        offset = now - stamp / 1e9
        while self._lowest and self._lowest[0][0] < now - self._window:
            self._lowest.popleft()
        while self._lowest and self._lowest[-1][1] >= offset:
            self._lowest.pop()
        self._lowest.append((now, offset))
        return now - (offset - self._lowest[0][1])

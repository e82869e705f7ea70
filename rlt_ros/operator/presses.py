"""Presses of a terminal's keys: which count, which keys were tried."""

from __future__ import annotations

import time
from collections.abc import Callable

from rlt_ros.operator.keys import STOP, Keys

HELD = 0.7
"""s. A key that is held repeats after 0.66 s in X11 and sooner elsewhere: within this time it is the same press."""


class Debounce:
    """Tells presses from the repetitions of a held key; every press of stop counts."""

    def __init__(self, within: float = HELD, clock: Callable[[], float] = time.monotonic) -> None:
        self.within, self._clock = within, clock
        self._last: dict[str, float] = {}

    def counts(self, action: str) -> bool:
        """Whether a press of the action's key now is a new one."""
        now, last = self._clock(), self._last.get(action)
        self._last[action] = now
        return action == STOP or last is None or now - last >= self.within


class KeyTest:
    """Which of the keys have come through this terminal."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.tried: set[str] = set()
        self.unknown = ""

    def press(self, key: str) -> None:
        """A key has come."""
        action = self._keys.action(key)
        self.unknown = "" if action else key
        if action:
            self.tried.add(action)

    @property
    def missing(self) -> list[str]:
        """Actions whose keys have not come yet."""
        return [action for _, action, _ in self._keys.card if action not in self.tried]

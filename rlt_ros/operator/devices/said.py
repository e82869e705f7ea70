"""What input devices say of themselves, as the operator is shown it."""

from __future__ import annotations

import time
from collections.abc import Callable

SILENCE = 5.0
"""s without a word of a device that speaks every second, after which it is warned of."""


class DevicesSaid:
    """The newest word of each device. clock: steady, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._words: dict[str, tuple[bool, str, float]] = {}

    def take(self, name: str, live: bool, text: str) -> None:
        """A device's newest word. live: it can be used."""
        self._words[name] = live, text, self._clock()

    @property
    def live(self) -> tuple[str, ...]:
        """Devices that can be used, each with what it says."""
        return tuple(f"{name}: {text}" for name, (live, text, at) in self._words.items() if live and not self._old(at))

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the others, one sentence each."""
        return [
            f"device {name}: {'no word of it any more' if self._old(at) else text}"
            for name, (live, text, at) in self._words.items()
            if not live or self._old(at)
        ]

    def _old(self, at: float) -> bool:
        return self._clock() - at > SILENCE

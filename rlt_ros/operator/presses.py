"""Presses of keys and buttons: which count, what became of them, which keys were tried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rlt_ros.loop.requests import Answer
from rlt_ros.operator.client import Client
from rlt_ros.operator.keys import REQUESTS, STOP, Keys
from rlt_ros.operator.view import answer_text

HELD = 0.7
"""s. A key that is held repeats after 0.66 s in X11 and sooner elsewhere: within this time it is the same press."""
ANSWER_WITHIN = 2.0
"""s to wait for an answer."""
STOP_AGAIN = 0.1
"""s between two stops that are sent while the key is held."""
Say = Callable[[str, str, str], None]
"""Told of a press: its action, a text, the text's mood (`view.MOODS`)."""


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


class Presses:
    """Sends what counts and says what became of it. Used within a running event loop; no call waits.

    within: seconds to wait for an answer.
    """

    def __init__(
        self, client: Client, say: Say, within: float = ANSWER_WITHIN, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._say, self._within, self._clock = client, say, within, clock
        self._debounce = Debounce(clock=clock)
        self._stopped = float("-inf")
        self._waiting: set[asyncio.Task[None]] = set()

    def press(self, action: str) -> None:
        """An action of `keys.REQUESTS` is asked for."""
        if action == STOP:
            self._stop()
        elif self._debounce.counts(action):
            self._ask(action)
        else:
            self._say(action, f"{action}: pressed again within {self._debounce.within} s, counted once", "dim")

    def close(self) -> None:
        """Wait for no more answers."""
        for task in self._waiting:
            task.cancel()

    def _stop(self) -> None:
        # A held key would fill the way; one that is pressed again and again is sent again, answered or not.
        if self._clock() - self._stopped >= STOP_AGAIN:
            self._stopped = self._clock()
            self._ask(STOP)

    def _ask(self, action: str) -> None:
        answer = asyncio.wrap_future(self._client.press(REQUESTS[action]))
        task = asyncio.get_running_loop().create_task(self._follow(action, answer))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _follow(self, action: str, answer: asyncio.Future[Answer]) -> None:
        try:
            told = await asyncio.wait_for(answer, self._within)
        except asyncio.TimeoutError:  # noqa: UP041 - not the same in Python 3.10
            self._say(action, f"{action}: NO ANSWER within {self._within:g} s", "bad")
            return
        self._say(action, answer_text(action, told), "good" if told.accepted else "bad")


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

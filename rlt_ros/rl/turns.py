"""A lock that serves its waiters in order."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Turns:
    """Mutual exclusion, first come first served.

    A loop that gives up a plain lock and takes it again at once wins against a sleeping waiter nearly every time;
    training would then keep rows and weight requests waiting. Here a waiter waits for one turn at most.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        mine.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

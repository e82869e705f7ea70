"""Messages between those who receive them and the thread that writes them."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from .bag_writer import BagWriter
from .metadata import Topic

IDLE = 0.2


class Received(NamedTuple):
    """A message as it came; ns."""

    topic: str
    data: bytes
    stamp: int
    published: int
    number: int


class Backlog:
    """Writes in a thread of its own, so that a slow disk keeps nobody from receiving. Beyond `limit` bytes messages are
    dropped and counted.
    """

    def __init__(self, writer: BagWriter, limit: int, on_failure: Callable[[OSError], None]) -> None:
        self._writer, self._limit, self._on_failure = writer, limit, on_failure
        self._waiting: deque[Received | Topic] = deque()
        self._bytes = 0
        self._condition = threading.Condition()
        self._over = False
        self.dropped: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def announce(self, topic: Topic) -> None:
        """Add a topic before its first message."""
        with self._condition:
            self._waiting.append(topic)

    def put(self, message: Received) -> None:
        """Add a message."""
        with self._condition:
            if self._limit and self._bytes + len(message.data) > self._limit:
                self.dropped[message.topic] += 1
                return
            self._bytes += len(message.data)
            self._waiting.append(message)
            self._condition.notify()

    def close(self) -> None:
        """Write what waits, then end the thread. The bag is left open."""
        with self._condition:
            self._over = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._work():
                pass
        except OSError as error:
            with self._condition:
                self.dropped.update(item.topic for item in self._waiting if isinstance(item, Received))
                self._waiting.clear()
                self._limit = 1  # nothing is taken any more
            self._on_failure(error)

    def _work(self) -> bool:
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._over, timeout=IDLE)
            items, self._waiting = self._waiting, deque()
            self._bytes = 0
        if not items:
            self._writer.idle()
            return not self._over
        while items:
            item = items.popleft()
            if isinstance(item, Topic):
                self._writer.add_topic(item)
            else:
                self._writer.write(*item)
        return True

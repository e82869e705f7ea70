"""Progress as plain lines that a pipe can carry: what, how far, how fast, how long still."""

from __future__ import annotations

import time
from collections.abc import Callable


class Progress:
    """Prints `stage1: vla 340/1200 loss 0.123 12.3/s 70 s left`, at most one line a second and always the last one.

    total: 0 if it is not known. clock: seconds, monotonic. show: takes the line. start: steps made before, which say
    nothing about the rate.
    """

    def __init__(
        self,
        stage: str,
        total: int,
        clock: Callable[[], float] = time.monotonic,
        show: Callable[[str], None] = lambda line: print(line, flush=True),
        start: int = 0,
    ) -> None:
        self.stage, self.total, self._before = stage, total, start
        self._clock, self._show = clock, show
        self._start = self._shown = clock()

    def update(self, done: int, note: str = "") -> None:
        """done: steps so far, of the total; note: such as the loss."""
        now = self._clock()
        if done != self.total and now - self._shown < 1.0:
            return
        self._shown = now
        rate = (done - self._before) / max(now - self._start, 1e-9)
        left = (self.total - done) / rate if rate > 0 else 0.0
        known = (f"/{self.total}", f"{left:.0f} s left") if self.total else ("", "")
        parts = [f"stage1: {self.stage} {done}{known[0]}", note, f"{rate:.1f}/s", known[1]]
        self._show(" ".join(part for part in parts if part))

"""Progress of stages that run side by side: elapsed time, remaining time, what each is at."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Stage:
    """One stage as shown: budget [s] from experience, a fraction where the tool reports one, and its last line."""

    def __init__(self, name: str, budget: float) -> None:
        self.name = name
        self.budget = budget
        self.fraction: float | None = None
        self.text = ""
        self.began: float | None = None
        self.took: float | None = None

    def begin(self) -> None:
        """Start the clock."""
        self.began = time.monotonic()

    def end(self) -> None:
        """Stop the clock."""
        if self.began is not None:
            self.took = time.monotonic() - self.began

    @property
    def running(self) -> bool:
        """Begun and not ended."""
        return self.began is not None and self.took is None

    def elapsed(self) -> float:
        """Seconds since it began, 0 before."""
        if self.began is None:
            return 0.0
        return self.took if self.took is not None else time.monotonic() - self.began

    def remaining(self) -> float:
        """Seconds left: by the reported fraction once that is telling, else by the budget. 0 when overdue or ended."""
        if self.took is not None:
            return 0.0
        if self.fraction is not None and self.fraction >= 0.05:
            return self.elapsed() * (1.0 - self.fraction) / self.fraction
        return max(0.0, self.budget - self.elapsed())

    def line(self) -> str:
        """One line for a person."""
        if self.took is not None:
            return f"{self.name}: done in {self.took:.0f} s"
        left = self.remaining()
        rest = f"about {left:.0f} s left" if left >= 1.0 else "almost done or slower than usual"
        return f"{self.name}: {self.elapsed():.0f} s, {rest}" + (f"  {self.text}" if self.text else "")


class Display:
    """Prints running stages: on a terminal one line each second, in a log a line each `interval` seconds."""

    def __init__(self, stages: list[Stage], stream: TextIO = sys.stderr, interval: float = 10.0) -> None:
        self._stages = stages
        self._stream = stream
        self._live = stream.isatty()
        self._interval = 1.0 if self._live else interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Keep printing inside the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()
            self._clear()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            running = [stage.line() for stage in self._stages if stage.running]
            if self._live:
                self._clear()
                print(" | ".join(running)[:150], end="", file=self._stream, flush=True)
            elif running:
                print("\n".join(running), file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

"""What the operator's side writes into the run directory, in a thread of its own: the disk must not delay a word."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.loop import episode_log, films, latency
from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.films import Film, FilmFolder
from rlt_ros.loop.latency import Histogram
from rlt_ros.loop.strips import FRAMES, StripFolder, Thinned

Pictures = Mapping[str, np.ndarray]
"""Camera -> uint8 (h, w, 3)."""


class RunLog:
    """Episodes, strips of pictures and latencies of one run. A disk that refuses is told once; nothing else stops.

    warn: takes a sentence. pictures: turns what `seen` was given into pictures; called in the thread, for a few of an
    episode. It raises ValueError where it cannot. rate: control steps per second, of films.
    """

    def __init__(
        self, run_dir: Path, warn: Callable[[str], None], pictures: Callable[[Any], Pictures], rate: float
    ) -> None:
        self._run_dir, self._warn, self._pictures = run_dir, warn, pictures
        self._seen: Thinned[Any] = Thinned(films.FRAMES)
        self._strips, self._films = StripFolder(run_dir), FilmFolder(run_dir, rate)
        self._latencies: dict[str, Histogram] = defaultdict(Histogram)
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._failed = False
        self._thread = threading.Thread(target=self._work, name="run log", daemon=True)
        self._thread.start()

    def seen(self, step: int, observation: Any) -> None:
        """An observation of the critical phase; step: where in the phase."""
        self._seen.add(step, observation)

    def took(self, what: str, seconds: float) -> None:
        """A duration; what: a name of `latency.MEANINGS`."""
        self._latencies[what].add(seconds)

    def ended(self, result: EpisodeResult) -> None:
        """An episode has ended; what was seen belongs to it."""
        few, many = self._seen.chosen(FRAMES), self._seen.chosen(films.FRAMES) if result.evaluation else []
        self._seen.clear()
        histograms = {name: Histogram(h.counts.copy(), h.largest) for name, h in self._latencies.items()}
        self._queue.put(lambda: self._write(result, few, histograms))
        if many:
            self._queue.put(lambda: self._film(result, many))

    def close(self, timeout: float = 2.0) -> None:
        """Write what waits, for so many seconds at most."""
        self._queue.put(self._films.close)
        self._queue.put(None)
        self._thread.join(timeout)

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                task()
            except (ImportError, OSError) as error:
                if not self._failed:
                    self._warn(f"episodes are not logged whole, all else goes on: {error}")
                self._failed = True

    def _write(
        self, result: EpisodeResult, seen: Sequence[tuple[int, Any]], histograms: Mapping[str, Histogram]
    ) -> None:
        episode_log.append(self._run_dir, result, **self._strip(result, seen))
        if histograms:
            latency.write(self._run_dir, histograms)

    def _film(self, result: EpisodeResult, seen: Sequence[tuple[int, Any]]) -> None:
        try:
            frames = [(step, self._pictures(observation)) for step, observation in seen]
        except ValueError:
            return
        caption = f"{result.stage.replace('_', ' ')}: {result.label.lower()} after {result.steps} steps"
        self._films.add(result.stage, Film(frames, caption))

    def _strip(self, result: EpisodeResult, seen: Sequence[tuple[int, Any]]) -> dict[str, Any]:
        try:
            pictures = [self._pictures(observation) for _, observation in seen]
        except ValueError:
            return {}
        if not pictures:
            return {}
        name = f"{result.stage}-{result.phase_id:06d}"
        file = self._strips.write(name, result.stage, pictures)
        return {"pictures": {"file": file, "cameras": list(pictures[0]), "steps": [step for step, _ in seen]}}

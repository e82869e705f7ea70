"""How fast a run goes and how long its stage still takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from rlt_ros.loop.session import DONE, PRACTICE, Progress

EVERY = 5.0
"""Seconds between two lines: each probes the learner, and at 2 s that was 3 % of a run."""


class Pace:
    """Measures each stage of a run from its first episode on. control_rate: Hz. clock: steady seconds."""

    def __init__(self, control_rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._control_rate, self._clock = control_rate, clock
        self._stage, self._since, self._from = "", 0.0, 0.0
        self._said = clock() - EVERY

    def of(self, progress: Progress, eval_episodes: int) -> str:
        """Rate and remaining time of the stage under way; empty if a line came a moment ago."""
        practising, now = progress.stage == PRACTICE, self._clock()
        done, total = float(progress.episode), float(eval_episodes)
        if practising:
            done, total = progress.practice_steps / self._control_rate, progress.practice_total / self._control_rate
        if progress.stage != self._stage:
            self._stage, self._since, self._from = progress.stage, now, done
        if now - self._said < EVERY or progress.stage == DONE:
            return ""
        self._said = now
        rate = (done - self._from) / (now - self._since) if now > self._since else 0.0
        left = f", {max(total - done, 0.0) / rate:.0f} s left" if rate > 0.0 else ""
        return f"{rate:.1f}{'x real time' if practising else ' episodes/s'}{left}"

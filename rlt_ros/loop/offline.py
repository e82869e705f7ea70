"""Learning from stored rows, without robot and without ROS, by the very steps of a live run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rlt_ros.rl.learner import Learner
from rlt_ros.rl.rows import RowError
from rlt_ros.rl.trainer import SLICE
from rlt_ros.types import Transition


@dataclass(frozen=True)
class Hooks:
    """What happens beside learning. Each is called between two slices of updates.

    stop: whether to end here, to be resumed later. after_slice: report, save.
    """

    stop: Callable[[], bool]
    after_slice: Callable[[], None]


class Offline:
    """Feeds rows to a learner that may be a resumed one: rows that it has taken already are left out.

    refused: rows that did not fit; why: the first reason.
    """

    def __init__(self, learner: Learner, hooks: Hooks) -> None:
        self._learner, self._hooks = learner, hooks
        self.refused, self.why = 0, ""

    def as_they_came(self, rows: Iterable[Transition]) -> bool:
        """After each phase all that is due, as a live learner in lockstep; the same rows, settings and seed give the
        same weights. False if it was stopped.
        """
        learner = self._learner
        if not learner.phase_open and not self._spend():
            return False
        for row in self._new(rows):
            self._add(row)
            if not learner.phase_open and not self._spend():
                return False
        return self._spend()

    def all_at_once(self, rows: Iterable[Transition], updates: int) -> bool:
        """First all rows, then training until the critics have had so many updates. False if it was stopped."""
        for row in self._new(rows):
            if self._hooks.stop():
                return False
            self._add(row)
        self._learner.assign(max(0, updates - self._learner.agent.critic_updates))
        return self._spend()

    def _spend(self) -> bool:
        while not self._hooks.stop() and self._learner.train(SLICE, self._hooks.stop):
            self._hooks.after_slice()
        return not self._hooks.stop()

    def _new(self, rows: Iterable[Transition]) -> Iterable[Transition]:
        taken = dict(self._learner.taken)
        return (row for row in rows if row.id > taken.get(row.stream, 0))

    def _add(self, row: Transition) -> None:
        try:
            self._learner.add([row])
        except RowError as error:
            self.refused += 1
            self.why = self.why or str(error)


class Rate:
    """How fast and how long still, from now on. done, total: updates. clock: steady seconds."""

    def __init__(self, done: int, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._before, self._total, self._clock = done, total, clock
        self._began = clock()

    def line(self, done: int) -> str:
        """`1200/9000 updates, 431/s, 18 s left`."""
        rate = (done - self._before) / max(self._clock() - self._began, 1e-9)
        left = f", {max(0, self._total - done) / rate:.0f} s left" if rate > 0 else ""
        return f"{done}/{self._total} updates, {rate:.0f}/s{left}"

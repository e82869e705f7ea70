"""Spends what rows have earned: at once in the caller's thread, or in a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from rlt_ros.types import Transition

SLICE = 50
"""Updates between two looks at whether training may go on."""

EXIT_CODE = 3
"""Of a process whose training has failed: starting it again would fail again."""


class TrainingFailed(RuntimeError):
    """Training has ended for good; `__cause__` says why. The weights are not to be used any more."""


class Trainee(Protocol):
    """What is trained: `rl.learner.Learner`."""

    @property
    def due_updates(self) -> int:
        """Updates that could be made now."""

    def add(self, rows: Iterable[Transition]) -> int:
        """Store rows."""

    def train(self, max_updates: int, stop: Callable[[], bool]) -> int:
        """Make updates, so many at most, until stop says so; how many."""


class Trainer:
    """Makes the updates that a learner's rows have earned.

    background: in a thread of its own, so that the robot does not wait; otherwise `add` returns when nothing is due.
    Either way a round of rows reaches the learner when the rounds before it are learned from, so both give the same
    weights for the same rounds, bit for bit, however long the caller takes between them.
    Rows that reach the learner past `add` (a node's inbox) are announced by `wake`. may_train: asked before each slice.
    on_slice, on_spent: called where training takes place, after each slice and when what was due is spent.
    """

    def __init__(
        self,
        learner: Trainee,
        background: bool,
        may_train: Callable[[], bool] = lambda: True,
        on_slice: Callable[[], None] = lambda: None,
        on_spent: Callable[[], None] = lambda: None,
    ) -> None:
        self._learner, self._may_train, self._on_slice, self._on_spent = learner, may_train, on_slice, on_spent
        self._rounds: deque[list[Transition]] = deque()
        self._condition = threading.Condition()
        self._halted, self._busy = False, background
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None
        if background:
            self._thread = threading.Thread(target=self._run, name="trainer", daemon=True)
            self._thread.start()

    @property
    def failed(self) -> bool:
        """Training has failed; `check` says why."""
        return self._failure is not None

    def check(self) -> None:
        """Raises TrainingFailed if training has failed."""
        if self._failure is not None:
            reason = f"{type(self._failure).__name__}: {self._failure}"
            raise TrainingFailed(f"training failed: {reason}") from self._failure

    def add(self, rows: list[Transition]) -> None:
        """Give one round of rows, such as those of a phase. Raises TrainingFailed."""
        self.check()
        if self._thread is None:
            self._learn(rows)
            self.check()
            return
        with self._condition:
            self._rounds.append(rows)
            self._condition.notify_all()

    def wake(self) -> None:
        """Something may be due that was not before."""
        with self._condition:
            self._condition.notify_all()

    def wait(self) -> None:
        """Return when every round is learned from and nothing is due, or training was halted. Raises TrainingFailed."""
        self.check()
        if self._thread is None:
            self._learn([])
        else:
            with self._condition:
                self._condition.wait_for(lambda: self._over() or not self._has_work())
        self.check()

    def halt(self) -> None:
        """Let training end within one update. Takes no lock, so that a signal handler may call it; `stop` follows."""
        self._halted = True

    def stop(self) -> None:
        """End training at once. Rounds not begun go to the learner unlearned: what they earn is owed, not lost."""
        self.halt()
        if self._thread is not None:
            self.wake()
            self._thread.join()
        while self._rounds and not self.failed:
            self._learner.add(self._rounds.popleft())

    def _over(self) -> bool:
        return self._halted or self.failed

    def _due(self) -> bool:
        return self._learner.due_updates > 0 and self._may_train()

    def _has_work(self) -> bool:
        return self._busy or bool(self._rounds) or self._due()

    def _run(self) -> None:
        rows: list[Transition] | None = []  # what an earlier life of the learner owes comes before new rows
        while rows is not None:
            self._learn(rows)
            rows = self._next_round()

    def _next_round(self) -> list[Transition] | None:
        """Wait for work; the rows of a round, none where something is due without one, None when it is over."""
        with self._condition:
            self._busy = False
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._over() or self._rounds or self._due())
            if self._over():
                return None
            self._busy = True
            return self._rounds.popleft() if self._rounds else []

    def _learn(self, rows: list[Transition]) -> None:
        try:
            if rows:
                self._learner.add(rows)
            made = 0
            while not self._halted and self._due():
                made += self._learner.train(SLICE, lambda: self._halted)
                self._on_slice()
            if made and self._learner.due_updates == 0:
                self._on_spent()
        except Exception as error:  # whatever it is: a thread that died unnoticed would leave stale weights in charge
            self._failure = error

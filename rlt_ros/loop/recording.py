"""Writes demonstrations in a thread of its own, so that encoding never delays the receipt of a message."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.writer import MIN_FREE
from rlt_ros.loop.collecting import Take
from rlt_ros.types import ExecutedStep, Observation

Frame = dict[str, Any]
MEGABYTE = 1_000_000


class Writer(Protocol):
    """What is needed of a `data.lerobot` writer. After any error the dataset holds what it held before the episode."""

    def add_frame(self, frame: Frame, task: str) -> None:
        """One more frame of the episode under way; DatasetError if it does not fit."""

    def save_episode(self, last: Frame | None = None) -> int:
        """Make the episode under way part of the dataset; `last` is known of its last frame only now."""

    def discard_episode(self) -> None:
        """Forget the episode under way."""

    def close(self) -> None:
        """Nothing more will come."""


@dataclass(frozen=True)
class Form:
    """How demonstrations look in the dataset.

    frame: the writer's form of a joined observation and step. last: what is known of the last frame at the end of a
    demonstration. task: the instruction, word for word.
    """

    task: str
    frame: Callable[[Observation, ExecutedStep], Frame]
    last: Callable[[Take], Frame] = lambda take: {}


@dataclass(frozen=True)
class Verdict:
    """What became of a demonstration. reason: why it was not saved although it was to be, else empty."""

    take: Take
    saved: bool
    reason: str = ""

    def __str__(self) -> str:
        if self.saved:
            return f"saved, {self.take.frames} frames"
        return f"refused: {self.reason}" if self.reason else f"not kept ({self.take.label.name.lower()})"


class RecordingThread:
    """A `collecting.Sink` around a dataset writer: frames wait in memory, the thread writes them in their order.

    backlog: bytes of pictures that may wait; beyond that a demonstration is refused, for a slow disk must not eat the
    memory of the machine that moves the arm. floor: bytes that must stay free on the disk; below it (where the writer
    begins no episode either), and after any error of the writer, every frame is refused and `failure` says why. A frame
    that the dataset does not take costs the demonstration that it belongs to and no other.
    """

    def __init__(
        self,
        writer: Writer,
        form: Form,
        folder: Path,
        backlog: int = 512 * MEGABYTE,
        floor: int = MIN_FREE,
    ) -> None:
        self._writer, self._form, self._folder = writer, form, folder
        self._limit, self._floor = backlog, floor
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._verdicts: queue.SimpleQueue[Verdict] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._error = self._refusal = ""
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="recording", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> str:
        """Why nothing can be recorded now, else empty. Space may be made on a disk; a failed writer stays failed."""
        if self._error:
            return self._error
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:  # a disk that was pulled out
            return f"{self._folder}: {error.strerror}"
        if free < self._floor:
            return f"{free / MEGABYTE:.0f} MB free in {self._folder}; at least {self._floor / MEGABYTE:.0f} MB must be"
        return ""

    @property
    def backlog(self) -> int:
        """Bytes of pictures that wait to be written."""
        with self._lock:
            return self._waiting

    def verdicts(self) -> list[Verdict]:
        """What became of the demonstrations that were dealt with since the last call, in their order."""
        found = []
        while not self._verdicts.empty():
            found.append(self._verdicts.get())
        return found

    # the sink

    def add(self, observation: Observation, step: ExecutedStep) -> str:
        """One more frame of the demonstration under way; returns why it cannot be taken, empty if it was."""
        failure, size = self.failure, _size(observation)
        if failure:
            return failure
        with self._lock:
            if self._waiting + size > self._limit:
                return f"{self._waiting / MEGABYTE:.0f} MB wait to be written: the disk or the encoder is too slow"
            self._waiting += size
        self._queue.put(lambda: self._add(observation, step, size))
        return ""

    def save(self, take: Take) -> None:
        """The demonstration under way is complete."""
        self._queue.put(lambda: self._save(take))

    def drop(self, take: Take) -> None:
        """The demonstration under way leaves nothing behind."""
        self._queue.put(lambda: self._drop(take))

    def close(self, timeout: float | None = None) -> bool:
        """Write what waits, finish the dataset; False if that takes longer than timeout seconds."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # the thread

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            task()
        try:
            self._writer.close()
        except Exception as error:
            self._error = self._error or self._sentence(error)

    def _add(self, observation: Observation, step: ExecutedStep, size: int) -> None:
        if not self._refusal:
            self._guarded(lambda: self._writer.add_frame(self._form.frame(observation, step), self._form.task))
        with self._lock:
            self._waiting -= size

    def _save(self, take: Take) -> None:
        if not self._refusal:
            self._guarded(lambda: self._writer.save_episode(self._form.last(take)))
        self._settle(take, saved=not (self._refusal or self._error), reason=self._refusal or self._error)

    def _drop(self, take: Take) -> None:
        self._guarded(self._writer.discard_episode)
        self._settle(take, saved=False, reason=take.fault or self._refusal)

    def _settle(self, take: Take, saved: bool, reason: str) -> None:
        if self._refusal:
            self._guarded(self._writer.discard_episode)
        self._refusal = ""
        self._verdicts.put(Verdict(take, saved, reason))

    def _guarded(self, action: Callable[[], Any]) -> None:
        if self._error:
            return
        try:
            action()
        except DatasetError as error:
            self._refusal = str(error)
        except Exception as error:  # whatever it is: the thread must go on to say that nothing is recorded any more
            self._error = self._sentence(error)

    def _sentence(self, error: Exception) -> str:
        return f"writing {self._folder}: {type(error).__name__}: {error}"


def _size(observation: Observation) -> int:
    return sum(image.nbytes for image in observation.images.values())

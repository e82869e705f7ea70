"""The executor's queue: which chunk runs, at which row."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from rlt_ros.types import ACTION_NAMES, ActionChunk, Driver, Mode

_REMEMBERED = 512
_ROUNDING = 1e-6


class ChunkRefused(ValueError):
    """A chunk that cannot be executed; nothing of it is."""


class StaleChunk(ChunkRefused):
    """A chunk that came too late: for an observation before the last hold or before a newer chunk."""


@dataclass(frozen=True)
class Row:
    """One row of a chunk, to be executed now. remaining: rows left after it."""

    chunk: ActionChunk
    index: int
    remaining: int

    @property
    def action(self) -> np.ndarray:
        """Action float32 (7,)."""
        return self.chunk.actions[self.index]


class ChunkQueue:
    """Holds the chunk that runs and the newest one offered, which follows when the first is used up.

    A late chunk starts at the row that was reached meanwhile: as many rows are skipped as steps were driven since its
    observation, holds not counted, since the arm stood still (field report A07).
    length: C that every chunk must have, None to take any.
    """

    def __init__(self, length: int | None = None) -> None:
        self._length = length
        self._current: ActionChunk | None = None
        self._index = 0
        self._pending: ActionChunk | None = None
        self._newest = 0
        self._floor = 0
        self._driven = 0
        self._before: OrderedDict[int, int] = OrderedDict()
        self.late = ""
        """What became of the last chunk that came too late to execute any row of it; empty if the last one did not."""

    @property
    def empty(self) -> bool:
        """The next step starts a new chunk."""
        return self._current is None or self._index >= len(self._current.actions)

    @property
    def pending(self) -> bool:
        """A chunk waits for the running one to end."""
        return self._pending is not None

    def offer(self, chunk: ActionChunk) -> None:
        """Take a chunk. One that answers the same observation again takes the place of one that has not begun and is
        ignored otherwise. Raises ChunkRefused naming the index of what is wrong."""
        self._check(chunk)
        if chunk.features_id == self._newest:
            self._pending = None if self._pending is None else chunk
            return
        if chunk.features_id < max(self._newest, self._floor):
            limit = max(self._newest, self._floor)
            raise StaleChunk(f"chunk of observation {chunk.features_id} came late: {limit} is the oldest of use now")
        self._pending, self._newest = chunk, chunk.features_id

    def arrive(self, observation_id: int) -> None:
        """An observation is about to be answered."""
        self._before.setdefault(observation_id, self._driven)
        if len(self._before) > _REMEMBERED:
            self._before.popitem(last=False)

    def peek(self, mode: Mode) -> Row | None:
        """The row to execute now under a mode; None if there is no chunk for it."""
        if self.empty:
            self._advance(mode)
        if self._current is None or self.empty:
            return None
        return Row(self._current, self._index, len(self._current.actions) - self._index - 1)

    def drove(self) -> None:
        """The row of `peek` was executed."""
        self._index += 1
        self._driven += 1

    def flush(self, observation_id: int) -> None:
        """Drop everything; only chunks of later observations are of use."""
        self._current, self._pending, self._index = None, None, 0
        self._floor = observation_id + 1

    def _advance(self, mode: Mode) -> None:
        chunk = self._pending
        before = None if chunk is None else self._driven_before(chunk.features_id)
        if chunk is None or before is None:
            return
        self._pending = None
        index = self._driven - before
        undone = chunk.driver is Driver.ACTOR and mode is Mode.VLA
        rows = len(chunk.actions)
        self.late = f"the chunk of observation {chunk.features_id} came {index} steps late" if index >= rows else ""
        if index < rows and not undone:
            self._current, self._index = chunk, index

    def _driven_before(self, observation_id: int) -> int | None:
        """Steps driven before an observation (or the next one that was seen); None if it is still to come."""
        return next((count for seen, count in self._before.items() if seen >= observation_id), None)

    def _check(self, chunk: ActionChunk) -> None:
        where, actions = f"chunk of observation {chunk.features_id}", np.asarray(chunk.actions)
        rows = self._length if self._length is not None else max(1, len(actions) if actions.ndim else 1)
        if actions.shape != (rows, len(ACTION_NAMES)):
            raise ChunkRefused(f"{where}: shape {actions.shape}; expected ({rows}, {len(ACTION_NAMES)})")
        if chunk.driver not in (Driver.VLA, Driver.ACTOR):
            raise ChunkRefused(f"{where}: driver {chunk.driver!r}; expected VLA or ACTOR")
        _refuse_where(~np.isfinite(actions), actions, where, "not finite")
        _refuse_where(np.abs(actions) > 1.0 + _ROUNDING, actions, where, "outside [-1, 1]")


def _refuse_where(bad: np.ndarray, actions: np.ndarray, where: str, what: str) -> None:
    if bad.any():
        index = np.argwhere(bad)[0].tolist()
        raise ChunkRefused(f"{where}: action {index} ({ACTION_NAMES[index[1]]}) is {actions[tuple(index)]}: {what}")

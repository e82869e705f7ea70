"""From a label to rows: waits for what a labelled phase still lacks, and gives up on what will never come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.types import EpisodeEvent, Transition


@dataclass
class _Open:
    event: EpisodeEvent
    since: float
    asked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Closing:
    """rows: of the phases that could be closed. wanted: observations whose features must be asked for."""

    rows: list[Transition]
    wanted: list[int]


class PhaseCloser:
    """Closes labelled phases in their order. patience: seconds after which rows without features are left out."""

    def __init__(self, windows: WindowAssembler, patience: float = 20.0) -> None:
        self._windows, self._patience = windows, patience
        self._open: deque[_Open] = deque()

    @property
    def busy(self) -> bool:
        """A labelled phase is not closed yet."""
        return bool(self._open)

    def add(self, event: EpisodeEvent, now: float) -> None:
        """A phase was labelled; now in seconds of a steady clock."""
        if not any(o.event.phase_id == event.phase_id for o in self._open):
            self._open.append(_Open(event, now))

    def close(self, executed_id: int, now: float) -> Closing:
        """Close what can be closed. executed_id: observation of the newest executed step."""
        rows: list[Transition] = []
        while self._open:
            first = self._open[0]
            if executed_id < first.event.observation_id - 1:
                return Closing(rows, [])
            assembly = self._windows.finish(first.event)
            if assembly.missing and now - first.since < self._patience:
                return Closing(rows, self._ask(first, assembly.missing))
            if assembly.missing:
                assembly = self._windows.give_up(first.event)
            rows += assembly.rows
            self._open.popleft()
        return Closing(rows, [])

    def ask_again(self) -> None:
        """Let what is missing be asked for once more: a request or its answer may have been lost."""
        for phase in self._open:
            phase.asked = ()

    @staticmethod
    def _ask(phase: _Open, missing: list[int]) -> list[int]:
        new = [number for number in missing if number not in phase.asked]
        phase.asked = tuple(missing)
        return new

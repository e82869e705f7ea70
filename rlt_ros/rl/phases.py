"""Critical phases as the learner sees them: in their rows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.types import Driver, Label, Transition

RECENT = 20
"""Labelled phases in the running success rate, as many as in the status line."""
KEPT = 1000
"""Phases that a reader of `PhaseLog.outcomes` may be late by."""


@dataclass(frozen=True)
class PhaseOutcome:
    """How a phase ended.

    number: of the phase in the run, from 1. steps: executed control steps from its first row to its end. human_steps:
    of those in its rows, the ones that a person drove.
    """

    number: int
    label: Label
    steps: int
    human_steps: int

    @property
    def labelled(self) -> bool:
        """It had an outcome; an aborted one says nothing about the policy."""
        return self.label in (Label.SUCCESS, Label.FAILURE)

    @property
    def success(self) -> bool:
        """It was labelled a success."""
        return self.label == Label.SUCCESS

    @property
    def unaided(self) -> bool:
        """A success without a person's help."""
        return self.success and self.human_steps == 0


@dataclass
class _Open:
    phase_id: int
    steps: int
    human: set[int] = field(default_factory=set)


class PhaseLog:
    """Joins rows to phases. Rows of several robots may come mixed, those of one robot come in order.

    Says nothing about phases before a restart whose rows are not added again.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._done: deque[PhaseOutcome] = deque(maxlen=KEPT)

    @property
    def outcomes(self) -> tuple[PhaseOutcome, ...]:
        """Finished phases, oldest first."""
        return tuple(self._done)

    def add(self, row: Transition, number: int) -> None:
        """Take a row; number: finished phases of the run, this row's included if it is the last one of its phase."""
        phase = self._open.get(row.stream)
        if phase is None or phase.phase_id != row.phase_id:
            phase = self._open[row.stream] = _Open(row.phase_id, row.steps_to_end)
        human = np.flatnonzero(row.drivers[: row.valid_horizon] == Driver.HUMAN)
        phase.human.update((row.step + human).tolist())
        if row.last_of_phase:
            self._done.append(PhaseOutcome(number, row.label, phase.steps, len(phase.human)))
            del self._open[row.stream]

    def recent(self) -> dict[str, float]:
        """Success rate, length and share of human steps of the last labelled phases; NaN before the first."""
        last = [phase for phase in self._done if phase.labelled][-RECENT:]
        steps = sum(phase.steps for phase in last)
        n = len(last) or float("nan")
        return {
            "recent_success": sum(phase.success for phase in last) / n,
            "recent_steps": steps / n,
            "intervention_rate": sum(phase.human_steps for phase in last) / (steps or float("nan")),
        }

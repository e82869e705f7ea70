"""Which steps of a bag belong together: runs of the graph, and critical phases with the label that each was given.

Ids are unique within a run only. Whoever restarts the graph or its teleop while a recorder goes on has observations,
episodes or phases of the same number twice in a bag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rlt_ros.data.bags.errors import BagError
from rlt_ros.types import ExecutedStep, Label

Event = tuple[int, int, Label]
"""Phase, observation at which it ended, label."""


@dataclass(frozen=True)
class Placed:
    """A step, and where it belongs. run: from 0. stretch: of steps of one phase, from 0. label: of its phase, None if
    nobody gave one. after: it was executed after the label, before the word had reached the executor."""

    step: ExecutedStep
    run: int
    stretch: int
    label: Label | None = None
    after: bool = False


class Runs:
    """Takes steps and events in the order of their receipt."""

    def __init__(self) -> None:
        self._runs: list[tuple[dict[int, ExecutedStep], list[Event]]] = [({}, [])]
        self._newest: ExecutedStep | None = None

    def step(self, step: ExecutedStep) -> None:
        """A step; one that was sent again is ignored. Raises BagError where time runs backwards."""
        steps, newest = self._runs[-1][0], self._newest
        if newest is not None and step.observation_id <= newest.observation_id and step.stamp > newest.stamp:
            steps = {}
            self._runs.append((steps, []))
        known = steps.setdefault(step.observation_id, step)
        if known.stamp != step.stamp:
            raise BagError(
                f"observation {step.observation_id} was executed at {known.stamp} ns and again, recorded later, at "
                f"{step.stamp} ns: was a simulator restarted? Record one run of it a bag"
            )
        if known is step:
            self._newest = step

    def event(self, event: Event) -> None:
        """A label; one that was sent again is ignored."""
        self._runs[-1][1].append(event)

    def placed(self) -> list[Placed]:
        """All steps, run by run, in the order of their observations."""
        found: list[Placed] = []
        for run, (steps, events) in enumerate(self._runs):
            ordered = [steps[number] for number in sorted(steps)]
            found += _placed(ordered, events, run, 1 + found[-1].stretch if found else 0)
        return found


def _placed(steps: Sequence[ExecutedStep], events: Sequence[Event], run: int, stretch: int) -> Iterator[Placed]:
    stretches = [list(group) for _, group in groupby(steps, lambda step: step.phase_id)]
    for place, group in enumerate(stretches):
        phase, begin = group[0].phase_id, group[0].observation_id
        again = next((g[0].observation_id for g in stretches[place + 1 :] if g[0].phase_id == phase), None)
        _, end, label = next(
            (e for e in events if phase and e[0] == phase and begin <= e[1] and (again is None or e[1] <= again)),
            (phase, None, None),
        )
        for step in group:
            yield Placed(step, run, stretch + place, label, end is not None and step.observation_id >= end)

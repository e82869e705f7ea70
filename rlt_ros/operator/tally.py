"""The last labels and who drove the phases that they ended."""

from __future__ import annotations

from collections import deque

from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label

LAST = 20


class Tally:
    """Counts labels and, in the phases that they ended, the steps that a person drove.

    A discarded phase leaves nothing behind. In real time the last step of a phase may come after its label: it counts.
    """

    def __init__(self) -> None:
        self._ended: deque[tuple[int, Label]] = deque(maxlen=LAST)
        self._steps: dict[int, list[int]] = {}
        self._failures = 0

    @property
    def labels(self) -> tuple[Label, ...]:
        """Of the last 20 phases, newest last."""
        return tuple(label for _, label in self._ended)

    @property
    def success_rate(self) -> float | None:
        """Share of successes among the last successes and failures, None before the first."""
        outcomes = [label is Label.SUCCESS for label in self.labels if label is not Label.ABORT]
        return sum(outcomes) / len(outcomes) if outcomes else None

    @property
    def intervention_rate(self) -> float | None:
        """Share of the executed steps of these phases that a person drove, None without such steps."""
        counts = [self._steps.get(phase_id, (0, 0)) for phase_id, _ in self._ended]
        steps = sum(count[0] for count in counts)
        return sum(count[1] for count in counts) / steps if steps else None

    @property
    def failure_streak(self) -> int:
        """Failures since the last success."""
        return self._failures

    def add(self, step: ExecutedStep) -> None:
        """Count an executed step; each must come once."""
        if step.phase_id:
            count = self._steps.setdefault(step.phase_id, [0, 0])
            count[0] += 1
            count[1] += step.driver is Driver.HUMAN

    def end(self, event: EpisodeEvent) -> None:
        """Take the label of a phase."""
        if event.label is Label.DISCARD:
            self._steps.pop(event.phase_id, None)
            return
        self._ended.append((event.phase_id, event.label))
        if event.label is Label.SUCCESS:
            self._failures = 0
        self._failures += event.label is Label.FAILURE
        kept = {phase_id for phase_id, _ in self._ended}
        self._steps = {i: count for i, count in self._steps.items() if i in kept or i > event.phase_id}

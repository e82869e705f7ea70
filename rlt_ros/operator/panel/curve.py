"""Success and help over the labelled phases of a run, kept where a reloaded page finds it again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import LAST
from rlt_ros.types import EpisodeEvent, Label

MOST = 5000
"""Points kept; a day of practice has fewer."""


@dataclass(frozen=True)
class Point:
    """After a labelled phase: shares over the last 20, 0..1, None where nothing is known."""

    phase_id: int
    label: Label
    success: float | None
    helped: float | None = None


class Curve:
    """One point for every phase that was labelled and not discarded, as `tally` counts them.

    The labels come from `episode_event`, which hands the last 50 to whoever joins late; the share of help from the
    status that is the newest while its phase is the last. `points` is replaced, never changed: threads may read it.
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self._last = (0, 0)

    def end(self, event: EpisodeEvent) -> None:
        """Take the label of a phase. A `teleop` node that counts from the beginning has begun another run."""
        known, self._last = self._last, (event.phase_id, event.stamp)
        if known == self._last:
            return
        points = self.points if event.phase_id > known[0] else ()
        if event.label is not Label.DISCARD:
            labels = [*(point.label for point in points), event.label]
            points = (*points, Point(event.phase_id, event.label, _success(labels[-LAST:])))
        self.points = points[-MOST:]

    def look(self, status: OperatorStatus) -> None:
        """Take a newer status."""
        helped = status.intervention_rate
        if helped is None or not self.points or status.labels[-1:] != (self.points[-1].label,):
            return
        if self.points[-1].helped != helped:
            self.points = (*self.points[:-1], replace(self.points[-1], helped=helped))


def _success(labels: list[Label]) -> float | None:
    outcomes = [label is Label.SUCCESS for label in labels if label is not Label.ABORT]
    return sum(outcomes) / len(outcomes) if outcomes else None

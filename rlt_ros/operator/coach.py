"""What a good coach would say about the practice, from the operator's status."""

from __future__ import annotations

from collections.abc import Iterator

from rlt_ros.loop.session import PRACTICE
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import LAST
from rlt_ros.types import Label, Phase

MANY_FAILURES = 4
"""In a row, after which going on as before is a waste of robot time."""
FEW_LABELS = 10
"""Fewer say nothing about the practice yet."""
MUCH_HELP = 0.5
"""Share of the steps: a person who drives more of them teaches imitation, and the success says nothing of the actor."""
GOOD = 0.9
"""Success of the last 20 above which the same starts teach little."""
LONG_PHASE = 60.0
"""Seconds of one critical phase after which a label is probably forgotten."""


def hints(status: OperatorStatus, phase_seconds: float) -> tuple[str, ...]:
    """One sentence each, the most urgent first; none in an evaluation. phase_seconds: robot time of the phase."""
    return () if status.stage != PRACTICE or status.finished else tuple(_hints(status, phase_seconds))


def _hints(status: OperatorStatus, phase_seconds: float) -> Iterator[str]:
    outcomes = [label for label in status.labels if label in (Label.SUCCESS, Label.FAILURE)]
    if status.phase is Phase.CRITICAL and phase_seconds > LONG_PHASE:
        yield f"this critical phase has lasted {phase_seconds:.0f} s: label it as soon as it is decided"
    if status.failure_streak >= MANY_FAILURES:
        yield f"{status.failure_streak} failures in a row: correct once, or look at start pose, scene and cameras"
    if len(outcomes) < FEW_LABELS:
        return
    if Label.SUCCESS not in outcomes:
        yield f"no success among the last {len(outcomes)}: without one there is nothing to learn towards; help once"
    help_given = status.intervention_rate or 0.0
    if help_given > MUCH_HELP:
        yield f"a person drove {100 * help_given:.0f} % of the steps: let it try longer before you help"
    if len(outcomes) == LAST and (status.success_rate or 0.0) > GOOD and help_given == 0.0:
        yield _harder(status)


def _harder(status: OperatorStatus) -> str:
    good = f"{100 * (status.success_rate or 0.0):.0f} % of the last {LAST} succeed without help"
    if status.start_poses:
        return f"{good}: practise from anywhere again, or evaluate"
    return f"{good}: practise from a harder place (here), or evaluate"

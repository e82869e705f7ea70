"""What a good coach would say about the practice, from the operator's status."""

from __future__ import annotations

from collections.abc import Iterator

from rlt_ros.loop.session import PRACTICE
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import LAST
from rlt_ros.types import Label, Mode, Phase

MANY_FAILURES = 4
"""In a row, after which going on as before is a waste of robot time."""
FEW_LABELS = 10
"""Fewer say nothing about the practice yet."""
MUCH_HELP = 0.5
"""Share of the steps: a person who drives more of them teaches imitation, and the success says nothing of the actor."""
GOOD = 0.9
"""Success of the last 20 above which the same starts teach little."""
LONG_PHASE = 60.0
"""Seconds of a critical phase after which a label is probably forgotten, and of an approach after which a begin is."""


def next_press(phase: Phase, mode: Mode) -> str:
    """What a session that has not ended waits for from the person, empty if for nothing."""
    waits = mode is Mode.HOLD and phase in (Phase.IDLE, Phase.LABELLED)
    return "the arm waits for you: next or reset begins an episode" if waits else ""


def hints(status: OperatorStatus, phase_seconds: float) -> tuple[str, ...]:
    """One sentence each, the most urgent first. phase_seconds: robot time of the phase, or of the approach."""
    return () if status.finished else (*_forgotten(status, phase_seconds), *_practice(status))


def _forgotten(status: OperatorStatus, phase_seconds: float) -> Iterator[str]:
    if next_press(status.phase, status.mode):
        yield next_press(status.phase, status.mode)
    if status.phase is Phase.CRITICAL and phase_seconds > LONG_PHASE:
        yield f"this critical phase has lasted {phase_seconds:.0f} s: label it as soon as it is decided"
    if status.phase is Phase.APPROACH and phase_seconds > LONG_PHASE:
        yield f"this approach has lasted {phase_seconds:.0f} s: begin the critical phase; nothing is learned before"


def _practice(status: OperatorStatus) -> Iterator[str]:
    if status.stage != PRACTICE:
        return
    outcomes = [label for label in status.labels if label in (Label.SUCCESS, Label.FAILURE)]
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

"""Advice for good practice: said when it is due, and not otherwise."""

from __future__ import annotations

import pytest

from rlt_ros.operator.coach import hints
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Label, Mode, Phase

S, F = Label.SUCCESS, Label.FAILURE


def status(labels: tuple[Label, ...] = (), **values: object) -> OperatorStatus:
    outcomes = [label is S for label in labels if label is not Label.ABORT]
    streak = next((i for i, label in enumerate(reversed(labels)) if label is S), len(labels))
    figures = {
        "stage": "practice",
        "phase": Phase.APPROACH,
        "mode": Mode.VLA,
        "labels": labels,
        "success_rate": sum(outcomes) / len(outcomes) if outcomes else None,
        "failure_streak": streak,
        "intervention_rate": 0.0,
    }
    return OperatorStatus(**(figures | values))


@pytest.mark.parametrize(
    ("seen", "seconds", "words"),
    [
        (status(phase=Phase.CRITICAL), 75.0, "has lasted 75 s"),
        (status(), 75.0, "this approach has lasted 75 s"),
        (status(phase=Phase.IDLE, mode=Mode.HOLD), 0.0, "next or reset begins an episode"),
        (status(phase=Phase.LABELLED, mode=Mode.HOLD, stage="final"), 0.0, "next or reset begins an episode"),
        (status((S, F, F, F, F)), 0.0, "4 failures in a row"),
        (status((F,) * 12), 0.0, "no success among the last 12"),
        (status((S, F) * 5, intervention_rate=0.62), 0.0, "drove 62 % of the steps"),
        (status((S,) * 20), 0.0, "100 % of the last 20 succeed without help: practise from a harder place"),
        (status((S,) * 20, start_poses=2), 0.0, "practise from anywhere again"),
    ],
)
def test_what_is_due_is_said(seen: OperatorStatus, seconds: float, words: str) -> None:
    assert any(words in hint for hint in hints(seen, seconds))


@pytest.mark.parametrize(
    "seen",
    [
        status(),
        status((F, F, F)),
        status((S, F) * 5),
        status((S,) * 9, intervention_rate=0.9),
        status((S,) * 20, intervention_rate=0.1),
        status((F,) * 20, stage="final"),
        status((F,) * 20, finished=True),
        status(phase=Phase.LABELLED, mode=Mode.HOLD, finished=True),
        status(phase=Phase.APPROACH, mode=Mode.HOLD),
        status((S,) * 18 + (F, F)),
    ],
)
def test_nothing_is_said_that_is_not_due(seen: OperatorStatus) -> None:
    assert hints(seen, 5.0) == ()

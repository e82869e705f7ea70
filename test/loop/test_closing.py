"""From a label to rows while steps and features are still on their way."""

from __future__ import annotations

from loop_parts import features
from test_windows import FIRST, event, steps

from rlt_ros.loop.closing import PhaseCloser
from rlt_ros.loop.windows import WindowAssembler


def waiting(length: int = 12, known: range | None = None) -> tuple[WindowAssembler, PhaseCloser]:
    """A labelled phase whose steps were told, with the features of some of its observations."""
    windows = WindowAssembler(10)
    for step in steps(length):
        windows.executed(step)
    for i in known if known is not None else range(FIRST, FIRST + length + 1):
        windows.features(features(i))
    closer = PhaseCloser(windows)
    closer.add(event(length), now=0.0)
    return windows, closer


def test_a_label_that_overtakes_the_last_step_waits_for_it() -> None:
    windows, closer = waiting(11)
    closer = PhaseCloser(windows)
    closer.add(event(12), now=0.0)
    assert closer.close(FIRST + 10, 0.1).rows == [] and closer.busy
    windows.executed(steps(12)[-1])
    rows = closer.close(FIRST + 11, 0.2).rows
    assert rows[-1].rewards[1] == 1.0 and rows[-1].last_of_phase and not closer.busy


def test_missing_features_are_asked_for_once_until_told_to_ask_again() -> None:
    _, closer = waiting(known=range(FIRST + 2, FIRST + 13))
    assert closer.close(FIRST + 11, 0.1).wanted == [FIRST]
    assert closer.close(FIRST + 11, 0.2).wanted == []
    closer.ask_again()
    assert closer.close(FIRST + 11, 0.3).wanted == [FIRST]


def test_features_that_never_come_cost_only_their_rows() -> None:
    windows, closer = waiting(known=range(FIRST + 2, FIRST + 13))
    closer.close(FIRST + 11, 0.1)
    rows = closer.close(FIRST + 11, 99.0).rows
    assert len(rows) == 5 and rows[-1].last_of_phase and windows.counts == {"features": 1}


def test_phases_close_in_their_order_and_a_repeated_label_counts_once() -> None:
    windows, closer = waiting()
    closer.add(event(12), now=1.0)
    for step in steps(12, 201, 2):
        windows.executed(step)
    for i in range(201, 214):
        windows.features(features(i))
    closer.add(event(12, first=201, phase_id=2), now=2.0)
    rows = closer.close(212, 3.0).rows
    assert [row.phase_id for row in rows] == [1] * 6 + [2] * 6

"""The curve over labelled phases, and how it is drawn."""

from __future__ import annotations

import pytest

from rlt_ros.operator.panel import chart
from rlt_ros.operator.panel.curve import MOST, Curve
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import Tally
from rlt_ros.types import EpisodeEvent, Label

LETTERS = {"S": Label.SUCCESS, "F": Label.FAILURE, "A": Label.ABORT, "D": Label.DISCARD}


def event(number: int, letter: str, stamp: int = 0) -> EpisodeEvent:
    return EpisodeEvent(number * 10, stamp or number * 10**9, number, number, LETTERS[letter])


def curve_of(letters: str) -> Curve:
    curve = Curve()
    for number, letter in enumerate(letters, 1):
        curve.end(event(number, letter))
    return curve


def test_it_counts_as_the_status_does() -> None:
    letters = "FFSADSSFADSSSSFFSASSSDSSSFSSSSSASSSSSS"
    curve, tally, seen = Curve(), Tally(), []
    for number, letter in enumerate(letters, 1):
        curve.end(event(number, letter))
        tally.end(event(number, letter))
        if letter != "D":
            seen.append(tally.success_rate)
    assert [point.success for point in curve.points] == seen
    assert [point.phase_id for point in curve.points] == [i for i, x in enumerate(letters, 1) if x != "D"]


def test_aborted_phases_alone_have_no_success() -> None:
    assert curve_of("AA").points[-1].success is None
    assert chart.options(curve_of("AA").points)["series"][0]["data"] == [[1, None], [2, None]]


def test_help_is_that_of_the_status_while_the_phase_is_the_last() -> None:
    curve = curve_of("F")
    curve.look(OperatorStatus(labels=(Label.FAILURE,), intervention_rate=0.5))
    curve.end(event(2, "S"))
    curve.look(OperatorStatus(labels=(Label.FAILURE,), intervention_rate=0.5))  # sent before the label
    assert [point.helped for point in curve.points] == [0.5, None]
    curve.look(OperatorStatus(labels=(Label.FAILURE, Label.SUCCESS), intervention_rate=0.25))
    assert [point.helped for point in curve.points] == [0.5, 0.25]


def test_a_label_that_comes_again_counts_once_and_a_new_run_begins_anew() -> None:
    curve = curve_of("SF")
    curve.end(event(2, "F"))
    assert len(curve.points) == 2
    curve.end(event(1, "S", stamp=99 * 10**9))
    assert [(point.phase_id, point.success) for point in curve.points] == [(1, 1.0)]


def test_what_was_handed_out_does_not_change_and_the_oldest_points_go() -> None:
    curve = curve_of("S")
    before = curve.points
    curve.end(event(2, "F"))
    assert len(before) == 1
    for number in range(3, MOST + 10):
        curve.end(event(number, "S"))
    assert len(curve.points) == MOST
    assert curve.points[-1].phase_id == MOST + 9


def test_the_drawing_has_the_numbers_in_percent() -> None:
    curve = curve_of("SF")
    curve.look(OperatorStatus(labels=(Label.FAILURE,), intervention_rate=0.125))
    success, helped = chart.options(curve.points)["series"]
    assert success["data"] == [[1, 100.0], [2, 50.0]]
    assert helped["data"] == [[1, None], [2, 12.5]]
    assert chart.caption(curve.points) == "phase 2: FAILURE, success 50%, helped 12%"
    assert chart.caption(()) == "no labelled phase yet"


@pytest.mark.parametrize(("count", "last"), [(0, 20), (5, 20), (20, 20), (33, 33)])
def test_the_axis_has_room_for_twenty_at_least(count: int, last: int) -> None:
    axis = chart.options(curve_of("S" * count).points)["xAxis"]
    assert (axis["min"], axis["max"]) == (1, last)

"""What is no row is refused with field, value and expectation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import DIMS, rows

from rlt_ros.rl.rows import RowError, RowSpec
from rlt_ros.types import Driver, Label

SPEC = RowSpec(4, DIMS)
ROW, LAST = rows(8)[0], rows(8)[7]


def changed_features(**changes):
    return replace(ROW, features=(replace(ROW.features[0], **changes), ROW.features[1]))


def with_value(array, value):
    array = array.copy()
    array.flat[0] = value
    return array


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (replace(ROW, actions=np.zeros((5, 3), np.float32)), r"actions shape is \(5, 3\); expected \(4, 3\)"),
        (replace(ROW, actions=with_value(ROW.actions, np.nan)), r"actions\[0, 0\] is nan"),
        (replace(ROW, rewards=with_value(ROW.rewards, np.inf)), r"rewards\[0\] is inf"),
        (replace(ROW, drivers=np.full(4, Driver.HOLD, np.uint8)), "drivers is .*3.*expected VLA, actor or human"),
        (replace(ROW, valid_horizon=0), r"valid_horizon is 0; expected 1..4"),
        (replace(ROW, valid_horizon=3), "valid_horizon is 3; expected 4 in a phase that goes on"),
        (replace(LAST, truncated=True), "terminated and truncated is True"),
        (replace(LAST, label=Label.ABORT), "label is 4; expected success or failure"),
        (replace(LAST, next_features_id=9), "next_features_id is 9; expected 0 where terminated"),
        (replace(ROW, next_features_id=0), "next_features_id is 0"),
        (replace(ROW, next_features_id=ROW.features_id), "expected another observation"),
        (replace(ROW, steps_to_end=3), r"steps_to_end is 3; expected at least valid_horizon \(4\)"),
        (changed_features(z=np.zeros(5, np.float32)), r"features 1: z shape is \(5,\); expected \(4,\)"),
        (changed_features(proprio=np.full(3, np.nan)), r"proprio\[0\] is nan"),
        (changed_features(reference=np.zeros((3, 3))), r"reference shape is \(3, 3\); expected \(H >= 4, 3\)"),
        (changed_features(reference=np.full((6, 3), 1.5)), "reference magnitude is 1.5; expected at most 1"),
        (changed_features(id=77), r"features.id is 77; expected one of \(1, 2\)"),
    ],
)
def test_refusals(row, message):
    with pytest.raises(RowError, match=message):
        SPEC.check(row)


def test_where_outcomes_are_seen_a_terminated_row_names_what_followed():
    always = RowSpec(4, DIMS, outcome_seen=True)
    with pytest.raises(RowError, match="next_features_id is 0; expected an observation .bootstrap_type is 'always'"):
        always.check(LAST)
    always.check(replace(LAST, next_features_id=9))
    always.check(ROW)


@pytest.mark.parametrize("row", [*rows(8), replace(LAST, terminated=False, truncated=True, next_features_id=9)])
def test_sound_rows_pass(row):
    SPEC.check(row)

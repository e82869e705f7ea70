"""The table of a run, and figures that nothing has measured."""

import json
import math

import numpy as np

from rlt_ros.token.figures import plain, table, times_below

METRICS = {
    "z_alone": 0.02,
    "position_mean": 0.1,
    "probe_z_mm": 0.5,
    "probe_untrained_z_mm": 0.75,
    "probe_proprio_mm": 1.25,
    "probe_z_auc": 0.9,
    "probe_untrained_z_auc": math.nan,
}


def test_the_table_says_all_in_one_look():
    assert table(METRICS) == [
        "                            z   untrained z       proprio",
        "hole offset, mm          0.50          0.75          1.25",
        "outcome, AUC             0.90             -             -",
        "reconstruction from z alone 0.02 a value, position mean 0.1: 5.0 times below",
    ]


def test_a_token_that_says_too_little_is_told():
    assert times_below(METRICS | {"z_alone": 0.05}) == 2.0
    assert "2.0 times below; expected at least 3 times" in table(METRICS | {"z_alone": 0.05})[-1]
    assert "position mean 0.1: above it; expected at least 3 times" in table(METRICS | {"z_alone": 0.4})[-1]


def test_what_was_not_measured_is_null_and_the_rest_is_json():
    found = plain({"a": math.nan, "b": np.float32(0.5), "c": "text", "d": np.int64(3), "e": math.inf, "f": None})
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        "a": None, "b": 0.5, "c": "text", "d": 3, "e": None, "f": None,
    }  # fmt: skip

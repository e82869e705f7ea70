"""Rolling figures and their bands."""

from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.report.bands import rolling_mean, rolling_rate, wilson


def test_wilson_is_that_of_the_textbook() -> None:
    # 8 of 10: 0.4902 to 0.9433, e.g. Newcombe 1998.
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 20)[0] == 0.0 and wilson(20, 20)[1] == 1.0


def test_rate_counts_the_last_episodes_only() -> None:
    band = rolling_rate(np.array([True] * 4 + [False] * 4), window=4)
    np.testing.assert_allclose(band.middle, [1, 1, 1, 1, 0.75, 0.5, 0.25, 0])
    assert (band.low <= band.middle).all() and (band.middle <= band.high).all()
    assert band.low[3] == pytest.approx(wilson(4, 4)[0])


def test_mean_lies_in_its_band_and_is_the_same_each_time() -> None:
    steps = np.random.default_rng(3).integers(20, 100, 50).astype(float)
    one, two = rolling_mean(steps), rolling_mean(steps)
    np.testing.assert_array_equal(one.low, two.low)
    assert (one.low <= one.middle).all() and (one.middle <= one.high).all()
    # The band of a mean of 20: about 1.96 standard errors to either side.
    half = 1.96 * steps[-20:].std() / np.sqrt(20)
    assert one.high[-1] - one.middle[-1] == pytest.approx(half, rel=0.25)


def test_nothing_gives_an_empty_band() -> None:
    assert rolling_rate(np.array([], bool)).middle.shape == rolling_mean(np.array([])).low.shape == (0,)

"""Clock skew out of messages there and back (field reports C15, A34)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.loop.skew import DRIFT, Exchange, SkewEstimator


def exchange(now: float, offset: float, there: float, back: float, thinks: float = 1e-3) -> Exchange:
    """One that begins at `now` by our clock; the other clock is ahead by offset. All in seconds."""
    arrives = now + there
    leaves = arrives + thinks
    times = (now, arrives + offset, leaves + offset, leaves + back)
    return Exchange(*(round(1e9 * t) for t in times))


def test_equal_ways_give_the_offset_itself() -> None:
    one = exchange(100.0, 0.2, 0.004, 0.004)
    assert one.offset == pytest.approx(0.2, abs=1e-8)
    assert one.delay == pytest.approx(0.008, abs=1e-8)


def test_nothing_is_known_before_the_first_exchange() -> None:
    assert SkewEstimator().at(0.0) is None


ways = st.tuples(st.floats(1e-5, 0.5), st.floats(1e-5, 0.5))


@given(
    offset=st.floats(-3600.0, 3600.0),
    drift=st.floats(-DRIFT, DRIFT),
    delays=st.lists(ways, min_size=1, max_size=100),
    later=st.floats(0.0, 30.0),
)
def test_the_truth_is_within_the_uncertainty_however_unequal_the_ways(offset, drift, delays, later) -> None:
    estimator = SkewEstimator()
    for second, (there, back) in enumerate(delays):
        estimator.add(exchange(second, offset + drift * second, there, back, thinks=0.0), second)
    now = len(delays) - 1 + later
    skew = estimator.at(now)
    # An exchange takes up to a second, in which the clocks drift on.
    assert abs(skew.offset - (offset + drift * now)) <= skew.uncertainty + 2.0 * DRIFT + 1e-6
    assert estimator.steps == 0 or abs(drift) > 0.9 * DRIFT


def test_messages_that_wait_on_one_way_only_are_not_taken_for_skew() -> None:
    estimator = SkewEstimator()
    for second in range(60):
        queue = 0.3 if second % 5 else 0.0
        estimator.add(exchange(second, 0.0, 0.001 + queue, 0.001), second)
    skew = estimator.at(59.0)
    assert abs(skew.offset) < 1e-6 and skew.uncertainty < 0.002
    assert skew.round_trip == pytest.approx(0.302, abs=1e-6)


def test_drift_is_followed() -> None:
    estimator = SkewEstimator()
    for second in range(3600):
        estimator.add(exchange(second, 50e-6 * second, 0.001, 0.001), second)
    assert estimator.at(3599.0).offset == pytest.approx(50e-6 * 3599, abs=1e-3)
    assert estimator.steps == 0


def test_a_clock_that_is_set_is_known_at_once() -> None:
    estimator = SkewEstimator()
    for second in range(20):
        estimator.add(exchange(second, 0.0 if second < 10 else 0.2, 0.001, 0.001), second)
        assert estimator.at(second).offset == pytest.approx(0.0 if second < 10 else 0.2, abs=1e-6)
    assert estimator.steps == 1


def test_an_impossible_exchange_is_refused() -> None:
    with pytest.raises(ValueError, match="under way for -0.5"):
        SkewEstimator().add(exchange(0.0, 0.0, -0.3, -0.2), 0.0)


def test_without_answers_the_uncertainty_grows() -> None:
    estimator = SkewEstimator()
    estimator.add(exchange(0.0, 0.1, 0.001, 0.001), 0.0)
    assert estimator.at(100.0).uncertainty == pytest.approx(0.001 + 100.0 * DRIFT)

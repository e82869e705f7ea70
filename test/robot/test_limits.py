"""The FR3's joint limits, velocities by position included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.robot.config import load_robot

ARM = load_robot().arm
JOINTS = ARM.joints
LOWER, UPPER = np.array(JOINTS.lower), np.array(JOINTS.upper)


def test_far_from_the_ends_the_plain_limit_counts() -> None:
    low, high = JOINTS.velocity_range((LOWER + UPPER) / 2)
    np.testing.assert_array_equal(high, JOINTS.velocity)
    np.testing.assert_array_equal(low, -high)


def test_towards_an_end_the_arm_must_be_able_to_brake() -> None:
    # Joint 2, 0.1 rad before its end: -0.2517 + sqrt(2 * 2.585 * 0.1).
    q = np.array(ARM.ready)
    q[1] = UPPER[1] - 0.1
    low, high = JOINTS.velocity_range(q)
    assert high[1] == pytest.approx(0.4673, abs=1e-4)
    assert low[1] == -2.62


@pytest.mark.parametrize("joint", range(7))
def test_at_an_end_and_beyond_it_only_the_way_back_is_left(joint: int) -> None:
    for q, index in ((UPPER, 1), (UPPER + 0.01, 1), (LOWER, 0), (LOWER - 0.01, 0)):
        limits = JOINTS.velocity_range(q)
        assert limits[index][joint] == 0.0
        assert abs(limits[1 - index][joint]) == JOINTS.velocity[joint]


@given(st.integers(0, 6), st.floats(0.0, 1.0))
def test_whoever_keeps_to_the_envelope_stops_before_the_end(joint: int, start: float) -> None:
    q, dt = (LOWER + UPPER) / 2, 1e-3
    q[joint] += start * (UPPER - q)[joint]
    for _ in range(3000):
        q[joint] += JOINTS.velocity_range(q)[1][joint] * dt
    assert q[joint] <= UPPER[joint]


def test_outside_counts_a_margin_and_what_is_no_number() -> None:
    q = np.array(ARM.ready)
    assert not JOINTS.outside(q).any()
    q[2], q[3], q[5] = np.nan, UPPER[3] - 0.04, LOWER[5] - 1e-9
    assert np.flatnonzero(JOINTS.outside(q)).tolist() == [2, 5]
    assert np.flatnonzero(JOINTS.outside(q, 0.05)).tolist() == [2, 3, 5]

"""The simulated MoveIt Servo: integration, time-out, singularities, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.robot import kinematics
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.controllers.base import Rejected
from rlt_ros.sim.controllers.servo import Servo, ServoConfig, Status

PERIOD = 0.01
JOINTS = load_robot().arm.joints
START = kinematics.inverse(Pose.of([0.5, 0.0, 0.16], [1.0, 0.0, 0.0, 0.0]), kinematics.READY)
AT_ONCE = ServoConfig(max_expected_latency=0.0)


def servo(config: ServoConfig = AT_ONCE, q: np.ndarray = START) -> Servo:
    made = Servo(kinematics.fr3(), JOINTS, PERIOD, config)
    made.reset(q)
    return made


def run(
    subject: Servo, twist: list[float], cycles: int, measured: np.ndarray = START, start: float = 0.0
) -> np.ndarray:
    """Joint positions after some cycles with one twist, sent anew in every cycle."""
    for i in range(cycles):
        now = start + i * PERIOD
        subject.accept(np.array(twist), now)
        q, _ = subject.cycle(measured, now)
    return q


def moved(q: np.ndarray) -> np.ndarray:
    return np.concatenate(kinematics.forward(START).to(kinematics.forward(q)))


def test_twists_are_integrated_along_the_base_axes() -> None:
    q = run(servo(), [0.1, 0.0, -0.05, 0.0, 0.0, 0.2], 20)
    np.testing.assert_allclose(moved(q), [0.02, 0.0, -0.01, 0.0, 0.0, 0.04], atol=2e-4)


def test_positions_come_out_later_by_the_expected_latency() -> None:
    subject = servo(ServoConfig())
    np.testing.assert_array_equal(run(subject, [0.1, 0, 0, 0, 0, 0], 10), START)
    assert moved(run(subject, [0.1, 0, 0, 0, 0, 0], 10, start=0.1))[0] == pytest.approx(0.01, abs=1e-4)


def test_without_twists_it_halts_and_starts_again_from_the_measured_positions() -> None:
    subject = servo()
    halted = run(subject, [0.1, 0, 0, 0, 0, 0], 10)
    for i in range(10, 40):
        q, velocities = subject.cycle(START, i * PERIOD)
    assert moved(q)[0] == pytest.approx(moved(halted)[0] + 0.009, abs=2e-3)  # until the time-out of 0.1 s
    assert not velocities.any()
    again = run(subject, [0.1, 0, 0, 0, 0, 0], 1, measured=START, start=0.4)
    assert moved(again)[0] == pytest.approx(0.001, abs=1e-4)


def test_twists_that_are_old_by_their_stamp_do_nothing() -> None:
    subject = servo()
    subject.accept(np.array([0.1, 0, 0, 0, 0, 0]), 0.0)
    np.testing.assert_array_equal(subject.cycle(START, 0.1)[0], START)


def test_zero_twists_keep_what_was_sent() -> None:
    subject = servo()
    sent = run(subject, [0.1, 0, 0, 0, 0, 0], 10)
    np.testing.assert_array_equal(run(subject, [0.0] * 6, 30, measured=START, start=0.1), sent)


def test_fast_twists_are_cut_off_and_unitless_ones_scaled() -> None:
    fast = moved(run(servo(), [2.0, 0, 0, 0, 0, 0], 5))
    unit = moved(run(servo(replace(AT_ONCE, unitless=True)), [1.0, 0, 0, 0, 0, 0], 5))
    np.testing.assert_allclose([fast[0], unit[0]], 0.4 * 5 * PERIOD, atol=1e-3)


def test_what_is_no_number_is_invalid() -> None:
    subject = servo()
    with pytest.raises(Rejected, match="invalid twist"):
        subject.accept(np.array([np.nan, 0, 0, 0, 0, 0]), 0.0)
    assert subject.status is Status.INVALID


def stretched(elbow: float) -> np.ndarray:
    return np.array([0.0, 0.6, 0.0, elbow, 0.0, 2.0, np.pi / 4])


def condition(q: np.ndarray) -> float:
    sizes = np.linalg.svd(kinematics.jacobian(q), compute_uv=False)
    return float(sizes[0] / sizes[-1])


def test_it_slows_down_towards_a_singularity_and_halts_in_it() -> None:
    near = next(stretched(-a) for a in np.arange(1.5, 0.2, -0.01) if condition(stretched(-a)) > 19.0)
    subject = servo(q=near)
    outwards = kinematics.forward(near).position - [0.0, 0.0, 0.333]
    twist = [*(0.1 * outwards / np.linalg.norm(outwards)), 0.0, 0.0, 0.0]
    seen = set()
    for i in range(2000):
        run(subject, twist, 1, measured=near, start=i * PERIOD)
        seen.add(subject.status)
    assert Status.DECELERATE_FOR_APPROACHING_SINGULARITY in seen
    assert condition(subject.cycle(near, 19.999)[0]) <= 30.5


def test_beyond_the_hard_stop_nothing_moves() -> None:
    inside = next(stretched(-a) for a in np.arange(1.5, 0.1, -0.005) if condition(stretched(-a)) > 31.0)
    subject = servo(q=inside)
    np.testing.assert_array_equal(run(subject, [-0.1, 0, 0, 0, 0, 0], 5, measured=inside), inside)
    assert subject.status is Status.HALT_FOR_SINGULARITY


def test_a_joint_at_its_end_halts_all_of_them_but_not_on_the_way_back() -> None:
    q = START.copy()
    q[6] = JOINTS.upper[6] - 0.1005
    subject = servo(q=q)
    turned = run(subject, [0, 0, 0, 0, 0, -0.5], 5, measured=q)
    assert subject.status is Status.JOINT_BOUND
    np.testing.assert_array_equal(turned, q)
    back = run(subject, [0, 0, 0, 0, 0, 0.5], 5, measured=q, start=0.05)
    assert back[6] < q[6] and subject.status is Status.NO_WARNING

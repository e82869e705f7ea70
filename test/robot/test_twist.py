"""The twist back-end: where its twists lead, and when it starts from the measured pose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm_states import HOME, far, measured, step

from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.commands.twist import TwistBackend
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose

ROBOT = load_robot("fr3_servo")
PERIOD = 0.05


@pytest.fixture
def backend() -> TwistBackend:
    return TwistBackend(ROBOT)


def led(pose: Pose, twist: np.ndarray, seconds: float = PERIOD) -> Pose:
    """Where Servo gets to from a pose."""
    return pose.moved(twist[:3] * seconds, twist[3:] * seconds)


def test_set_points_are_reached_one_after_the_other(backend: TwistBackend) -> None:
    pose = target = HOME
    for i in range(20):
        target = step(target, x=0.003, z=-0.002, turn=(0.0, 0.01, 0.02))
        pose = led(pose, backend.command([SetPoint(target)], measured(pose=pose), i * PERIOD))
        assert far(pose, target) < 1e-7


def test_what_was_commanded_counts_not_what_is_measured(backend: TwistBackend) -> None:
    """In contact the measured pose stays behind; a twist towards it again and again would press ever harder."""
    target = step(HOME, z=-0.005)
    assert backend.command([SetPoint(target)], measured(), 0.0)[2] == pytest.approx(-0.1)
    np.testing.assert_allclose(backend.command([SetPoint(target)], measured(), PERIOD), 0.0, atol=1e-12)


def test_twists_are_no_faster_than_servo_takes_them(backend: TwistBackend) -> None:
    twist = backend.command([SetPoint(step(HOME, x=0.1, turn=(0.0, 0.0, 0.3)))], measured(), 0.0)
    assert np.linalg.norm(twist[:3]) == pytest.approx(ROBOT.limits.speed)
    assert np.linalg.norm(twist[3:]) == pytest.approx(ROBOT.command.twist.rotational_scale)


def test_unitless_twists_are_parts_of_servos_scale() -> None:
    settings = replace(ROBOT.command.twist, units="unitless")
    backend = TwistBackend(replace(ROBOT, command=replace(ROBOT.command, twist=settings)))
    twist = backend.command([SetPoint(step(HOME, x=0.005, turn=(0.0, 0.0, 0.02)))], measured(), 0.0)
    np.testing.assert_allclose(twist, [0.25, 0, 0, 0, 0, 0.5], atol=1e-9)


def test_a_hold_elsewhere_or_without_a_state_is_no_velocity(backend: TwistBackend) -> None:
    target = step(HOME, x=0.01)
    backend.command([SetPoint(target)], measured(), 0.0)
    assert not backend.hold(HOME, measured(), 0.02).any()
    backend.command([SetPoint(target)], measured(), 0.04)
    assert not backend.hold(target, None, 0.06).any()


def test_a_hold_at_the_last_set_point_goes_there_and_no_further(backend: TwistBackend) -> None:
    target = step(HOME, x=0.01)
    pose = led(HOME, backend.command([SetPoint(target)], measured(), 0.0), 0.02)
    for i in range(1, 20):
        pose = led(pose, backend.hold(target, measured(), 0.02 * i), 0.02)
    assert far(pose, target) < 1e-4


def test_after_servos_time_out_the_measured_pose_counts_again(backend: TwistBackend) -> None:
    backend.command([SetPoint(step(HOME, x=0.005))], measured(), 0.0)
    target = step(HOME, x=0.001)
    np.testing.assert_allclose(backend.command([SetPoint(target)], measured(), 0.3)[0], 0.001 / PERIOD)


def test_an_arm_that_is_elsewhere_is_taken_from_where_it_is(backend: TwistBackend) -> None:
    backend.command([SetPoint(step(HOME, x=0.005))], measured(), 0.0)
    away = step(HOME, y=0.04)
    twist = backend.command([SetPoint(away)], measured(pose=away), PERIOD)
    np.testing.assert_allclose(twist, 0.0, atol=1e-12)


def test_nothing_is_due_beyond_the_horizon(backend: TwistBackend) -> None:
    with pytest.raises(ValueError, match="expected up to 0.2"):
        backend.command([SetPoint(HOME, 0.2)], measured(), 0.0)
    with pytest.raises(ValueError, match="no set-points"):
        backend.command([], measured(), 0.0)

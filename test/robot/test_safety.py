"""Whatever comes in: what leaves the safety module is inside the box and within the leash, or it is a hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.safety import Safety
from rlt_ros.robot.state import RobotMode, RobotState

ROBOT = load_robot()
LIMITS, REFERENCE = ROBOT.limits, ROBOT.reference
LOWER, UPPER = np.array(LIMITS.workspace.lower), np.array(LIMITS.workspace.upper)
TURN = np.array(LIMITS.workspace.rotation)
CENTRE = 0.5 * (LOWER + UPPER)

anything = st.floats(allow_nan=True, allow_infinity=True)
wild_pose = st.builds(
    Pose,
    st.lists(anything, min_size=3, max_size=3).map(np.array),
    st.lists(anything, min_size=4, max_size=4).map(np.array),
)
position = st.tuples(*(st.floats(low - 0.03, high + 0.03) for low, high in zip(LOWER, UPPER, strict=True))).map(
    np.array
)
turn = st.tuples(*(st.floats(-3.3, 3.3) for _ in range(3))).map(np.array)
small_turn = st.tuples(*(st.floats(-limit - 0.15, limit + 0.15) for limit in TURN)).map(np.array)
signs = st.sampled_from([-1.0, 1.0])


def pose(at: np.ndarray, about_reference: np.ndarray, sign: float = 1.0, length: float = 1.0) -> Pose:
    turned = REFERENCE.moved(np.zeros(3), about_reference)
    return Pose(np.array(at, dtype=float), sign * length * turned.quaternion)


def state(measured: Pose, force: float = 0.0, mode: RobotMode | None = None, error: bool = False) -> RobotState:
    push = np.array([0.0, 0.0, force])
    return RobotState(1, measured, np.zeros(7), np.zeros(7), push, np.zeros(3), 0.04, mode, error)


def safety() -> Safety:
    return Safety(LIMITS, REFERENCE)


def assert_safe(target: Pose, measured: Pose) -> None:
    step, turned = Pose.of(measured.position, measured.quaternion).to(target)
    assert np.linalg.norm(step) <= LIMITS.leash_translation + 1e-9
    assert np.linalg.norm(turned) <= LIMITS.leash_rotation + 1e-9
    assert (target.position >= LOWER).all() and (target.position <= UPPER).all()
    assert (np.abs(REFERENCE.to(target)[1]) <= TURN + 1e-9).all()
    assert np.linalg.norm(target.quaternion) == pytest.approx(1.0, abs=1e-12)


@given(wild_pose, wild_pose, anything)
def test_any_input_is_safe_or_held(target: Pose, measured: Pose, force: float) -> None:
    verdict = safety().check(target, state(measured, force))
    if verdict.target is None:
        assert verdict.reasons
    else:
        assert_safe(verdict.target, measured)


@settings(max_examples=400)
@given(position, turn, position, small_turn, signs, signs, st.floats(0.5, 2.0))
def test_near_the_box_is_safe_or_held(at, about, measured_at, measured_about, sign, measured_sign, length) -> None:
    measured = pose(measured_at, measured_about, measured_sign)
    verdict = safety().check(pose(at, about, sign, length), state(measured))
    if verdict.target is not None:
        assert_safe(verdict.target, measured)
    else:
        outside = np.linalg.norm(np.clip(measured_at, LOWER, UPPER) - measured_at) > LIMITS.leash_translation
        assert outside or (np.abs(REFERENCE.to(measured)[1]) > TURN).any()


@given(st.tuples(*(st.floats(-0.005, 0.005) for _ in range(3))), st.tuples(*(st.floats(-0.05, 0.05) for _ in range(3))))
def test_a_target_within_all_limits_is_not_touched(step, about) -> None:
    measured = pose(CENTRE, np.zeros(3))
    wanted = pose(CENTRE + step, np.array(about))
    verdict = safety().check(wanted, state(measured))
    assert verdict.reasons == ()
    np.testing.assert_allclose(verdict.target.position, wanted.position, atol=1e-15)
    assert np.linalg.norm(wanted.to(verdict.target)[1]) < 1e-12


def test_a_far_target_goes_to_the_leash_in_its_direction() -> None:
    measured = pose(CENTRE, np.zeros(3))
    verdict = safety().check(pose(CENTRE + [0.03, 0.0, 0.04], np.zeros(3)), state(measured))
    np.testing.assert_allclose(verdict.target.position, CENTRE + [0.006, 0.0, 0.008], atol=1e-12)
    assert verdict.reasons == ("leash: target 50.00 mm from the measured pose, limit 10.00 mm",)


def test_the_workspace_box_clips_and_says_so() -> None:
    edge = np.array([UPPER[0] - 0.002, CENTRE[1], CENTRE[2]])
    verdict = safety().check(pose(edge + [0.005, 0.001, 0.0], np.zeros(3)), state(pose(edge, np.zeros(3))))
    np.testing.assert_allclose(verdict.target.position, [UPPER[0], CENTRE[1] + 0.001, CENTRE[2]], atol=1e-12)
    assert verdict.reasons[0].startswith("workspace: target position")


def test_rotation_limits_do_not_wrap() -> None:
    """A target just beyond half a turn wraps to the other sign; the command still goes the short way."""
    measured = pose(CENTRE, np.array([0.0, 0.0, TURN[2] - 0.05]))
    for yaw in (math.pi + 0.3, math.pi - 0.3):
        verdict = safety().check(pose(CENTRE, np.array([0.0, 0.0, yaw])), state(measured))
        assert REFERENCE.to(verdict.target)[1][2] == pytest.approx(TURN[2], abs=1e-9)


def test_box_and_leash_that_exclude_each_other_hold() -> None:
    outside = np.array([UPPER[0] + 0.0101, CENTRE[1], CENTRE[2]])
    verdict = safety().check(pose(CENTRE, np.zeros(3)), state(pose(outside, np.zeros(3))))
    assert verdict.target is None and "out of reach of the box" in verdict.reasons[0]
    reachable = np.array([UPPER[0] + 0.0099, CENTRE[1], CENTRE[2]])
    verdict = safety().check(pose(CENTRE, np.zeros(3)), state(pose(reachable, np.zeros(3))))
    assert verdict.target is not None
    turned = pose(CENTRE, np.array([TURN[0] + 0.11, 0.0, 0.0]))
    verdict = safety().check(pose(CENTRE, np.zeros(3)), state(turned))
    assert verdict.target is None and "measured rotation" in verdict.reasons[0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["position", "quaternion"])
def test_values_that_are_not_finite_hold(bad: float, field: str) -> None:
    good = pose(CENTRE, np.zeros(3))
    broken = replace(good, **{field: np.array([bad, *getattr(good, field)[1:]])})
    assert safety().check(broken, state(good)).reasons == ("target: not a finite pose",)
    assert safety().check(good, state(broken)).reasons == ("state: the measured pose is not finite",)


def test_a_quaternion_is_normalised_and_never_flips_its_sign() -> None:
    box, measured = safety(), pose(CENTRE, np.zeros(3))
    first = box.check(pose(CENTRE, np.array([0.0, 0.0, 0.01]), 1.0, 3.0), state(measured)).target
    second = box.check(pose(CENTRE, np.array([0.0, 0.0, 0.01]), -1.0, 0.2), state(measured)).target
    np.testing.assert_allclose(first.quaternion, second.quaternion, atol=1e-12)
    assert np.linalg.norm(second.quaternion) == pytest.approx(1.0)
    zero = replace(measured, quaternion=np.zeros(4))
    assert box.check(zero, state(measured)).target is None


def test_the_force_limit_has_hysteresis() -> None:
    box, here = safety(), pose(CENTRE, np.zeros(3))
    moving = [box.check(here, state(here, force)).target is not None for force in (39.9, 40.1, 35.0, 30.1, 29.9, 39.9)]
    assert moving == [True, False, False, False, True, True]
    assert box.check(here, state(here, math.nan)).reasons == ("force: the measured force is not finite",)
    assert box.check(here, state(here, 35.0)).target is None
    assert box.check(here, state(here, 10.0)).target is not None


@pytest.mark.parametrize("mode", list(RobotMode))
def test_robot_modes(mode: RobotMode) -> None:
    here = pose(CENTRE, np.zeros(3))
    verdict = safety().check(here, state(here, mode=mode))
    assert (verdict.target is not None) == (mode in (RobotMode.IDLE, RobotMode.MOVE))
    assert verdict.target is not None or mode.name in verdict.reasons[0]


def test_an_unknown_mode_holds_a_missing_one_does_not() -> None:
    here = pose(CENTRE, np.zeros(3))
    assert safety().check(here, state(here, mode=None)).target is not None
    assert safety().check(here, state(here, mode=17)).reasons == ("mode: the robot is in 17",)
    assert safety().check(here, state(here, error=True)).reasons == ("mode: the robot reports an error",)


def test_near_and_inside() -> None:
    box, here = safety(), pose(CENTRE, np.zeros(3))
    assert box.near(pose(CENTRE + [0.009, 0.0, 0.0], np.zeros(3)), state(here))
    assert not box.near(pose(CENTRE + [0.011, 0.0, 0.0], np.zeros(3)), state(here))
    assert not box.near(pose(CENTRE, np.array([0.0, 0.0, 0.11])), state(here))
    assert box.inside(here) and not box.inside(pose(UPPER + 0.001, np.zeros(3)))
    assert not box.inside(pose(CENTRE, np.array([TURN[0] + 0.01, 0.0, 0.0])))
    broken = replace(here, position=np.array([math.nan, 0.0, 0.0]))
    assert not box.near(broken, state(here)) and not box.near(here, state(broken)) and not box.inside(broken)

"""The way between two control steps: bounded, never beyond the target, at rest without one. Field reports A07, C10."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_parts import CENTRE, ROBOT

from rlt_ros.loop.setpoints import AHEAD, MARGIN, Setpoints, setpoints_of
from rlt_ros.robot.pose import Pose

PERIOD = 0.02
STEP, TURN = ROBOT.action_scale.translation, ROBOT.action_scale.rotation
BOUND = min(MARGIN * np.sqrt(3.0) * STEP * ROBOT.control_rate, ROBOT.limits.speed) * PERIOD
TURN_BOUND = min(MARGIN * np.sqrt(3.0) * TURN * ROBOT.control_rate, ROBOT.limits.rotation_speed) * PERIOD
START = Pose.of(CENTRE, ROBOT.reference.quaternion)


def made(interpolation: float = 0.05) -> Setpoints:
    return setpoints_of(ROBOT, interpolation)


def moved(x: float = STEP, turn: float = 0.0, start: Pose = START) -> Pose:
    return start.moved(np.array([x, 0.0, 0.0]), np.array([0.0, 0.0, turn]))


def along(points: Setpoints, *times: float) -> list[float]:
    """Millimetres from the start along x."""
    return [round(1e3 * float(points.at(t).position[0] - CENTRE[0]), 6) for t in times]


def test_linear_in_position_and_at_rest_at_the_target() -> None:
    points = made(interpolation=0.03)
    points.aim(moved(), 1.0, START)
    assert along(points, 1.0, 1.01, 1.02, 1.03, 1.04, 5.0) == [2.0, 3.0, 4.0, 5.0, 5.0, 5.0]
    assert not points.moving and points.last is points.goal


def test_rotation_about_one_axis_with_constant_speed() -> None:
    points = made(interpolation=0.03)
    points.aim(moved(0.0, TURN), 0.0, START)
    turns = [START.to(points.at(t))[1] for t in (0.0, 0.01, 0.02, 0.03)]
    np.testing.assert_allclose(turns, [[0, 0, TURN * share] for share in (0.4, 0.6, 0.8, 1.0)], atol=1e-9)


def test_nothing_is_commanded_before_the_first_target_and_after_a_release() -> None:
    points = made()
    assert points.at(0.0) is None and points.goal is None
    points.aim(moved(), 0.0, START)
    points.release()
    assert points.at(0.01) is None and points.last is None
    points.aim(moved(0.0, 0.0), 0.02, START)
    np.testing.assert_array_equal(points.at(1.0).position, START.position)


def test_a_new_target_in_mid_way_starts_where_the_last_set_point_is() -> None:
    points = made()
    points.aim(moved(), 0.0, START)
    reached = along(points, 0.0, 0.02)[-1]
    points.aim(moved(-STEP), 0.03, START)
    back = along(points, 0.03, 0.05, 0.08)
    assert 0 < reached < 5 and reached > back[0] > back[1] > back[2] == -5.0


def test_a_stop_stands_where_the_last_set_point_is_and_stays() -> None:
    points = made()
    points.aim(moved(), 0.0, START)
    last = points.at(0.01)
    points.stop()
    assert points.at(0.02) is last and points.at(9.0) is last and not points.moving


def test_standing_at_the_target_under_way_lets_the_way_end_there() -> None:
    """Starvation: the arm holds at its last target."""
    points, goal = made(), moved()
    points.aim(goal, 0.0, START)
    points.at(0.0)
    points.stand(goal)
    assert points.moving and points.at(0.05) is goal
    elsewhere = moved(0.2)
    points.stand(elsewhere)
    assert points.at(0.06) is elsewhere, "the arm was pushed: where it stands is no motion"


def test_a_late_tick_does_not_jump_and_catches_up() -> None:
    points = made(interpolation=0.0)
    points.aim(moved(0.03), 0.0, START)
    bound = 1e3 * BOUND
    assert along(points, 0.0, 0.02, 0.04, 0.06, 0.08, 0.1) == pytest.approx([k * bound for k in range(1, 6)] + [30.0])


def test_nothing_is_pursued_further_than_a_fifth_of_a_second() -> None:
    points = made()
    points.aim(moved(0.5), 0.0, START)
    reached = along(points, *np.arange(0.0, 0.2, 0.02))[-1]
    assert reached < 100.0
    assert along(points, 0.3, 0.4) == [reached, reached]
    points = made()
    points.aim(moved(), 0.0, START)
    assert along(points, 0.5) == [0.0], "a process that slept does not move on old news"


def test_time_that_goes_back_stands_still() -> None:
    points = made()
    points.aim(moved(), 5.0, START)
    assert along(points, 5.02, 4.0, 5.01) == [along(points, 5.01)[0]] * 3


@pytest.mark.parametrize("wrong", [{"period": 0.0}, {"period": np.nan}, {"translation": -1.0}, {"rotation": np.inf}])
def test_bounds_that_bound_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Setpoints(**({"period": PERIOD, "interpolation": 0.05, "translation": 1.0, "rotation": 1.0} | wrong))


@pytest.mark.parametrize("interpolation", [-0.01, 0.21, np.nan])
def test_an_interpolation_that_reaches_too_far_is_refused(interpolation: float) -> None:
    with pytest.raises(ValueError, match="interpolation"):
        made(interpolation)


@pytest.mark.parametrize("rate", [19.0, 0.1])
def test_a_command_rate_below_the_control_rate_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="command.rate is"):
        setpoints_of(replace(ROBOT, command=replace(ROBOT.command, rate=rate)), 0.05)


def test_the_robots_own_speed_limits_bound_the_set_points_too() -> None:
    slow = replace(ROBOT, limits=replace(ROBOT.limits, speed=0.05))
    points = setpoints_of(slow, 0.0)
    points.aim(moved(0.03), 0.0, START)
    assert along(points, 0.0, 0.02) == [1.0, 2.0]


OFFSET = st.lists(st.floats(-0.3, 0.3), min_size=3, max_size=3)
EVENT = st.tuples(st.sampled_from(["aim", "tick", "stop"]), st.floats(-0.01, 0.3), OFFSET, OFFSET)


@given(st.floats(0.0, AHEAD), st.lists(EVENT, max_size=30))
def test_whatever_comes_no_set_point_jumps_or_leads_away_from_the_target(
    interpolation: float, events: list[tuple]
) -> None:
    points, now, last = made(interpolation), 0.0, None
    for what, later, step, turn in events:
        now += later
        if what == "aim":
            points.aim(START.moved(np.array(step), np.array(turn)), now, START)
        elif what == "stop":
            points.stop()
        point = points.at(now)
        if point is None:
            continue
        assert np.isfinite(point.position).all() and np.linalg.norm(point.quaternion) == pytest.approx(1.0)
        before, last = last or START, point
        change, turned = before.to(point)
        assert np.linalg.norm(change) <= BOUND + 1e-9 and np.linalg.norm(turned) <= TURN_BOUND + 1e-9
        assert float(np.dot(before.quaternion, point.quaternion)) > 0.0, "continuous sign"
        left, remaining = (np.linalg.norm(p.to(points.goal)[0]) for p in (before, point))
        assert remaining <= left + 1e-9, "never away from the target"


@given(OFFSET, OFFSET, st.floats(0.0, AHEAD))
def test_a_target_of_one_step_is_reached_in_time(step: list[float], turn: list[float], interpolation: float) -> None:
    points = made(interpolation)
    goal = START.moved(np.clip(step, -STEP, STEP), np.clip(turn, -TURN, TURN))
    points.aim(goal, 0.0, START)
    for i in range(12):
        point = points.at(i * PERIOD)
        if i * PERIOD >= max(interpolation, 0.04):
            assert point is goal

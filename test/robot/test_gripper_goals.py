"""Field reports C06 and C07: goals that stall, goals by the hundred, hands that are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.gripper_goals import Goal, GripperGoals, Order

GRIPPER = load_robot().gripper
GONE = "/franka_gripper/grasp"


def goals(**changes: object) -> GripperGoals:
    return GripperGoals(replace(GRIPPER, **changes))


def test_the_same_wish_every_tick_is_one_goal() -> None:
    made, sent = goals(), []
    for tick in range(100):
        made.wish(-1.0)
        sent.append(made.step(tick * 0.1, ""))
    assert [order for order in sent if order] == [Order(1, Goal.CLOSE)]


def test_a_stalling_goal_is_cancelled_for_a_newer_wish_which_goes_out_all_the_same() -> None:
    """C06: an object between the fingers, close, then open; the close would take 100 s."""
    made = goals()
    made.wish(-1.0)
    assert made.step(0.0, "") == Order(1, Goal.CLOSE)
    made.wish(1.0)
    assert made.step(0.6, "") == Order(1, None)
    assert made.step(1.0, "") is None and made.step(1.7, "") is None
    assert made.step(1.8, "") == Order(2, Goal.OPEN)
    assert "closing does not end after it was cancelled" in made.news()[0]
    made.finished(1, False, "late")
    made.finished(2, True)
    assert made.status == ""


def test_a_goal_that_ends_after_the_cancel_is_no_failure() -> None:
    made = goals()
    made.wish(-1.0)
    made.step(0.0, "")
    made.wish(1.0)
    made.step(0.6, "")
    made.finished(1, False, "cancelled")
    assert made.step(0.7, "") == Order(2, Goal.OPEN) and made.news() == []


def test_a_goal_that_takes_for_ever_is_given_up_and_named_and_not_tried_again() -> None:
    made = goals()
    made.wish(-1.0)
    made.step(0.0, "")
    assert made.step(9.9, "") is None
    assert made.step(10.0, "") == Order(1, None)
    assert made.news() == ["gripper: closing has not ended within 10 s; going on without it: is it stuck?"]
    assert [made.step(t, "") for t in range(11, 200)] == [None] * 189
    assert "stuck" in made.status


def test_a_failed_goal_is_named_and_not_tried_again() -> None:
    made = goals()
    made.wish(-1.0)
    made.step(0.0, "")
    made.finished(1, False, "width 0.08 m is outside epsilon")
    assert made.news() == ["gripper: closing failed: width 0.08 m is outside epsilon"]
    assert made.step(5.0, "") is None


def test_of_many_wishes_the_newest_counts() -> None:
    made = goals()
    made.wish(-1.0)
    made.step(0.0, "")
    for held in (1.0, -1.0, 1.0, -1.0):
        made.wish(held)
    assert made.step(0.5, "") is None, "what is in flight is what is wished"
    made.finished(1, True)
    assert made.step(0.6, "") is None


def test_goals_keep_an_interval() -> None:
    made = goals(interval=0.5)
    made.wish(-1.0)
    made.step(0.0, "")
    made.finished(1, True)
    made.wish(1.0)
    assert made.step(0.4, "") is None
    assert made.step(0.5, "") == Order(2, Goal.OPEN)


def test_a_server_that_is_gone_is_named_once_and_the_wish_waits() -> None:
    made = goals()
    made.wish(-1.0)
    assert [made.step(t, GONE) for t in range(50)] == [None] * 50
    assert made.news() == [f"gripper: closing waits: {GONE} has no action server; is the gripper's node running?"]
    assert made.step(60.0, "") == Order(1, Goal.CLOSE)


def test_homing_comes_first_and_is_not_cancelled() -> None:
    made = goals(homing=True)
    made.wish(1.0)
    assert made.step(0.0, "") == Order(1, Goal.HOME)
    made.wish(-1.0)
    assert made.step(5.0, "") is None
    made.finished(1, True)
    assert made.step(5.1, "") == Order(2, Goal.CLOSE)


def test_a_wish_after_homing_was_sent_is_not_lost() -> None:
    made = goals(homing=True)
    made.step(0.0, "")
    made.wish(-1.0)
    made.finished(1, False, "no")
    assert made.step(1.0, "") == Order(2, Goal.CLOSE)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"driver": "robotiq"}, "driver is 'robotiq'; expected franka_hand, gripper_command or none"),
        ({"force": 0.0}, "force is 0.0"),
        ({"closed_width": 0.08}, "closed_width is 0.08 m, open_width 0.08 m"),
        ({"hysteresis": 0.0}, "hysteresis is 0.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(GRIPPER, **changes)

"""Field reports C01, C03, C04: recovery waits for a person, takes its time, and is not tried for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.recovery import RecoveryMachine, RecoveryStep, needed_by
from rlt_ros.robot.state import RobotMode, RobotState

ROBOT = load_robot()
SECOND = 10**9
CLEAR, HARDWARE, CONTROLLERS = RecoveryStep


def state(mode: RobotMode | None = RobotMode.MOVE, stamp: int = SECOND, **changes: object) -> RobotState:
    zeros = np.zeros(3)
    made = RobotState(stamp, ROBOT.reference, np.zeros(7), np.zeros(7), zeros, zeros, 0.02, mode)
    return replace(made, **changes)


REFLEX = state(RobotMode.REFLEX, error=True, errors=("joint_reflex",))


def machine(**changes: object) -> RecoveryMachine:
    return RecoveryMachine(replace(ROBOT.recovery, **changes))


def ill(**changes: object) -> RecoveryMachine:
    made = machine(**changes)
    assert made.observe(state()) == ""
    made.observe(REFLEX)
    return made


def run_steps(made: RecoveryMachine, now: int = 0) -> list[RecoveryStep]:
    done = []
    for _ in range(20):
        step = made.due(now)
        if step is not None:
            done.append(step)
            made.finished(step, True)
    return done


def test_a_reflex_waits_for_the_operator_and_says_for_what() -> None:
    made = ill()
    assert made.reason == (
        "recovery: the robot is in REFLEX (joint_reflex), waiting for the operator to call the service recover"
    )
    assert made.news() == [made.reason] and made.news() == []
    assert [made.due(i * SECOND) for i in range(100)] == [None] * 100
    assert needed_by(f"mode: the robot is in REFLEX; {made.reason}")
    assert not needed_by("mode: the robot is in USER_STOPPED") and not needed_by("")


def test_the_three_steps_in_their_order_and_only_once() -> None:
    made = ill()
    assert made.confirm() == (True, "recovery begins: the robot is in REFLEX (joint_reflex)")
    assert made.due(0) is CLEAR and made.due(0) is None
    assert made.confirm()[0] is False, "under way"
    made.finished(CLEAR, True)
    assert made.due(0) is HARDWARE
    made.finished(CLEAR, True)
    assert made.due(0) is None
    made.finished(HARDWARE, True)
    assert made.due(0) is CONTROLLERS
    made.finished(CONTROLLERS, True)
    assert made.due(0) is None
    assert made.observe(REFLEX).endswith("waiting for the robot to report that it is ready")
    assert made.observe(state()) == ""
    assert "ready again" in made.news()[-1]
    assert made.confirm() == (False, "nothing needs recovery")


def test_flags_that_clear_themselves_do_not_hide_that_no_controller_runs() -> None:
    """franka_ros 32 and 308."""
    made = ill()
    reason = made.observe(state(RobotMode.IDLE, motion_errors=("cartesian_reflex",)))
    assert "REFLEX" in reason
    made = machine()
    for mode in (RobotMode.MOVE, RobotMode.USER_STOPPED):
        assert made.observe(state(mode)) == "", "a stop is a hold, not a fault"
    assert made.observe(state(RobotMode.IDLE)).startswith("recovery: the robot is in IDLE after USER_STOPPED")


def test_whoever_recovered_it_the_arm_goes_on() -> None:
    made = ill()
    assert made.observe(state()) == ""
    made = machine()
    for mode in (RobotMode.USER_STOPPED, RobotMode.MOVE, RobotMode.MOVE):
        assert made.observe(state(mode)) == ""


def test_an_idle_robot_is_fine_until_a_controller_has_moved_it() -> None:
    made = machine()
    assert [made.observe(state(RobotMode.IDLE)) for _ in range(3)] == [""] * 3
    made.observe(state(RobotMode.MOVE))
    assert made.observe(state(RobotMode.IDLE)).startswith("recovery: the robot is in IDLE after MOVE")
    assert made.observe(state(RobotMode.MOVE)) == ""


def test_slow_recovery_is_waited_for() -> None:
    made = ill()
    made.confirm()
    assert made.due(0) is CLEAR
    assert made.due(16 * SECOND) is None
    made.finished(CLEAR, True)
    assert made.due(16 * SECOND) is HARDWARE


@pytest.mark.parametrize("ok", [True, False])
def test_a_step_without_an_answer_ends_the_attempt_and_comes_too_late(ok: bool) -> None:
    made = ill()
    made.confirm()
    made.due(0)
    assert made.due(31 * SECOND) is None
    assert "error_recovery: no answer within 30 s" in made.reason
    made.finished(CLEAR, ok, "late")
    assert "no answer" in made.reason and made.due(32 * SECOND) is None, "no storm of retries"
    assert made.confirm()[0] and made.due(33 * SECOND) is CLEAR


def test_a_failed_step_is_named_and_the_operator_asked_again() -> None:
    made = ill()
    made.confirm()
    made.finished(made.due(0), True)
    made.finished(made.due(0), False, "FrankaHardwareInterface is inactive")
    assert made.reason.endswith("failed at activating the hardware: FrankaHardwareInterface is inactive")
    assert made.due(100 * SECOND) is None
    assert "recovery failed at activating the hardware" in made.news()[-1]


def test_a_robot_that_does_not_come_back_is_named() -> None:
    made = ill()
    made.confirm()
    assert run_steps(made) == [CLEAR, HARDWARE, CONTROLLERS]
    assert made.due(SECOND) is None
    made.observe(REFLEX)
    made.due(40 * SECOND)
    assert "waiting for the robot to report that it is ready: no answer within 30 s" in made.reason


def test_without_confirmation_it_tries_a_few_times_and_then_asks() -> None:
    made = ill(confirm=False, attempts=2, pause=5.0)
    tried = []
    for second in range(200):
        step = made.due(second * SECOND)
        made.observe(REFLEX)
        if step is not None:
            tried.append(second)
            made.finished(step, False, "no")
    assert tried == [5, 11]
    assert "waiting for the operator" in made.reason


def test_recovering_into_the_same_contact_again_and_again_ends_too() -> None:
    """B42, franka_ros 68: each recovery succeeds and each is followed by the next reflex."""
    made, begun = machine(confirm=False, attempts=3, pause=1.0), 0
    for second in range(1, 400, 2):
        made.observe(replace(REFLEX, stamp=second * SECOND))
        for moment in (second, second + 1):
            begun += len(run_steps(made, moment * SECOND)) == 3
        made.observe(state(stamp=(second + 1) * SECOND)) if not made.reason.endswith("recover") else None
    assert begun == 3


def test_the_operator_cannot_recover_a_robot_that_is_held_by_hand() -> None:
    made = ill()
    made.observe(state(RobotMode.USER_STOPPED))
    assert made.confirm() == (False, "the robot is in USER_STOPPED: release it first")


def test_an_arm_that_does_not_follow_stays_a_fault_until_it_was_recovered() -> None:
    made = machine()
    made.observe(state())
    made.fault("commanded for 1.00 s but the arm stands still")
    for _ in range(3):
        assert made.observe(state()).startswith("recovery: commanded for 1.00 s")
    made.confirm()
    assert run_steps(made) == [CLEAR, HARDWARE, CONTROLLERS]
    assert made.observe(state()) == ""


def test_without_a_report_of_the_robot_the_operator_s_word_is_enough() -> None:
    made = machine()
    made.observe(state(None))
    made.fault("commanded for 1.00 s but the arm stands still")
    assert made.observe(state(None))
    assert made.confirm()[0] and made.due(0) is None
    assert made.observe(state(None)) == ""

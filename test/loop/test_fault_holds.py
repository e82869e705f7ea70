"""A robot that needs recovery: the arm holds where it is, the phase is truncated, and nothing starts by itself."""

from __future__ import annotations

import numpy as np
import pytest
from loop_parts import CENTRE, ROBOT, chunk, executed, features, mode, stamp, state

from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.robot.recovery import RecoveryStep
from rlt_ros.robot.state import RobotMode
from rlt_ros.types import Driver, Label, Mode, Phase

REFLEX = {"mode": RobotMode.REFLEX, "error": True, "errors": ("joint_reflex",)}


def step(executor: ChunkExecutor, i: int, at: np.ndarray = CENTRE, word: Mode = Mode.VLA, **state_changes: object):
    return executor.step(i, stamp(i), 1, i, state(i, at, **state_changes), mode(i, word))


def recovered(executor: ChunkExecutor) -> None:
    assert executor.recovery.confirm()[0]
    for wanted in RecoveryStep:
        assert executor.recovery.due(0) is wanted
        executor.recovery.finished(wanted, True)


def test_a_reflex_holds_until_the_operator_has_recovered_the_robot() -> None:
    executor = ChunkExecutor(ROBOT, chunk=10)
    executor.offer(chunk(1))
    step(executor, 1)
    held = step(executor, 2, **REFLEX).executed
    assert held.driver is Driver.HOLD and "; recovery: the robot is in REFLEX (joint_reflex), waiting" in held.reason
    assert held.reason.startswith("mode: the robot is in REFLEX") or "reports an error: joint_reflex" in held.reason
    idle = step(executor, 3, mode=RobotMode.IDLE).executed
    assert idle.reason.startswith("recovery: the robot is in REFLEX"), "its flags have cleared themselves"
    recovered(executor)
    executor.offer(chunk(4))
    assert step(executor, 4).executed.driver is Driver.VLA


@pytest.mark.parametrize("stopped", [RobotMode.USER_STOPPED, RobotMode.GUIDING, RobotMode.AUTOMATIC_ERROR_RECOVERY])
def test_after_a_stop_by_hand_the_arm_goes_on_from_where_it_is(stopped: RobotMode) -> None:
    executor = ChunkExecutor(ROBOT, chunk=10)
    executor.offer(chunk(1, value=1.0))
    step(executor, 1)
    for i in range(2, 12):
        held = step(executor, i, CENTRE + [0.0, 0.0, 0.0003 * i], mode=stopped)
        assert held.executed.reason == f"mode: the robot is in {stopped.name}"
        np.testing.assert_allclose(held.target.position, CENTRE + [0.0, 0.0, 0.0003 * i])
    at = CENTRE + [0.0, 0.0, 0.004]
    executor.offer(chunk(12, value=0.0))
    np.testing.assert_allclose(step(executor, 12, at).target.position, at, atol=1e-12)


def test_after_a_user_stop_an_idle_robot_needs_recovery() -> None:
    """franka_ros 308."""
    executor = ChunkExecutor(ROBOT, chunk=10)
    step(executor, 1, mode=RobotMode.USER_STOPPED)
    assert "is in IDLE after USER_STOPPED" in step(executor, 2, mode=RobotMode.IDLE).executed.reason


def stuck(executor: ChunkExecutor, steps: int, force: float = 0.2) -> list[StepResult]:
    results = []
    for i in range(1, steps):
        if not results or results[-1].executed.remaining == 0:
            executor.offer(chunk(i, value=-0.6))
        results.append(step(executor, i, force=np.array([0.0, 0.0, force])))
    return results


def test_an_arm_that_does_not_follow_is_held_and_needs_recovery() -> None:
    """C04: the state is normal, but there is no motion for 1 s while commanding."""
    executor = ChunkExecutor(ROBOT, chunk=10)
    results = stuck(executor, 40)
    drivers = [r.executed.driver for r in results]
    first = drivers.index(Driver.HOLD)
    assert 20 <= first <= 23 and set(drivers[first:]) == {Driver.HOLD}
    assert results[first].executed.reason.startswith("recovery: commanded for 1.0")
    np.testing.assert_array_equal(results[-1].target.position, CENTRE)
    recovered(executor)
    executor.offer(chunk(40))
    assert step(executor, 40).executed.driver is Driver.VLA


def test_a_peg_that_is_held_back_by_the_board_is_no_fault() -> None:
    results = stuck(ChunkExecutor(ROBOT, chunk=10), 80, force=9.0)
    assert {r.executed.driver for r in results} == {Driver.VLA}


def test_a_teleport_waits_for_recovery_too() -> None:
    executor = ChunkExecutor(ROBOT, chunk=10)
    held = step(executor, 1, word=Mode.RESET, **REFLEX)
    assert held.executed.driver is Driver.HOLD and "recovery:" in held.executed.reason
    assert step(executor, 2, word=Mode.RESET).wants_reset


def test_the_critical_phase_is_truncated_at_the_fault_and_the_rest_makes_no_row() -> None:
    conductor = Conductor(
        PhaseMachine(lambda: (True, "")), Session(SessionConfig(practice_minutes=1.0), lambda: (True, ""))
    )
    machine, windows = conductor.machine, WindowAssembler(10)
    machine.request(Request.MODE_VLA)
    conductor.observe(1, stamp(1), 0)
    machine.request(Request.BEGIN)
    for i in range(2, 60):
        word = conductor.observe(i, stamp(i), 0)
        windows.features(features(i))
        if word.events:
            break
        fault = i == 30
        changes = {"reason": "mode: REFLEX; recovery: the robot is in REFLEX, waiting"} if fault else {}
        done = executed(i, Driver.HOLD if fault else Driver.VLA, word.mode.phase_id, episode=0, **changes)
        conductor.add_executed(done)
        windows.executed(done)
    assert [event.label for event in word.events] == [Label.ABORT] and word.events[0].observation_id == 31
    assert word.mode.phase is Phase.LABELLED and machine.mode is Mode.RESET
    rows = windows.finish(word.events[0]).rows
    assert rows and not any(row.terminated for row in rows)
    assert max(row.step + row.valid_horizon for row in rows) == 30, "none contains the fault, all up to it are there"
    last = rows[-1]
    assert last.truncated and last.next_features_id == 30, "what was seen as the fault came"


def test_a_hold_for_another_reason_truncates_nothing() -> None:
    conductor = Conductor(
        PhaseMachine(lambda: (True, "")), Session(SessionConfig(practice_minutes=1.0), lambda: (True, ""))
    )
    conductor.machine.request(Request.MODE_VLA)
    conductor.observe(1, stamp(1), 0)
    conductor.machine.request(Request.BEGIN)
    for i in range(2, 40):
        word = conductor.observe(i, stamp(i), 0)
        conductor.add_executed(executed(i, Driver.HOLD, word.mode.phase_id, episode=0, reason="force: 50 N"))
    assert word.mode.phase is Phase.CRITICAL


def test_a_phase_that_the_arm_did_not_follow_is_discarded() -> None:
    """Steps were counted as executed before anybody noticed: they must not be learned from."""
    conductor = Conductor(
        PhaseMachine(lambda: (True, "")), Session(SessionConfig(practice_minutes=1.0), lambda: (True, ""))
    )
    conductor.machine.request(Request.MODE_VLA)
    conductor.observe(1, stamp(1), 0)
    conductor.machine.request(Request.BEGIN)
    word = conductor.observe(2, stamp(2), 0)
    executor = ChunkExecutor(ROBOT, chunk=10)
    reason = next(r.executed.reason for r in stuck(executor, 80) if r.executed.driver is Driver.HOLD)
    conductor.add_executed(executed(2, Driver.HOLD, word.mode.phase_id, episode=0, reason=reason))
    assert [event.label for event in conductor.observe(3, stamp(3), 0).events] == [Label.DISCARD]

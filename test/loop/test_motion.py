"""Set-points between observations: judged one by one, and a hold that needs no observation. Field reports C10, A06."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_parts import CENTRE, ROBOT, chunk, mode, stamp, state

from rlt_ros.loop.executor import ChunkExecutor
from rlt_ros.loop.motion import Command, Motion
from rlt_ros.loop.setpoints import setpoints_of
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.types import Driver, ExecutedStep, Mode

PERIOD = 0.02
LIMITS = ROBOT.limits


class Run:
    """Executor and motion in one hand; an arm that follows every command at once."""

    def __init__(self, value: float = 1.0) -> None:
        self.executor = ChunkExecutor(ROBOT, lockstep=False)
        self.motion = Motion(self.executor, setpoints_of(ROBOT, 0.05))
        self.at = CENTRE.copy()
        self.now, self.number, self.value = 0.0, 0, value

    def observe(self, what: Mode = Mode.VLA, fault: str = "") -> ExecutedStep:
        self.number += 1
        self.executor.observe(self.number, stamp(self.number))
        self.executor.offer(chunk(self.number, value=self.value))
        measured, standing = state(self.number, self.at), self.motion.standing
        word = mode(self.number, what)
        result = self.executor.step(
            self.number, stamp(self.number), 1, self.number, measured, word, standing=standing, fault=fault
        )
        self.motion.follow(result, measured.pose, self.now)
        return result.executed

    def tick(self, measured: RobotState | None = None, seconds: float = PERIOD) -> Command | None:
        command = self.motion.command(self.now, measured or state(self.number, self.at))
        self.now += seconds
        if command is not None:
            self.at = command.pose.position
        return command


def x(command: Command) -> float:
    return 1e3 * float(command.pose.position[0] - CENTRE[0])


def test_without_observations_the_arm_stands_within_a_tenth_of_a_second() -> None:
    run = Run()
    run.observe()
    sent = [run.tick() for _ in range(20)]
    assert [c.still for c in sent] == [False] * 4 + [True] * 16
    assert x(sent[3]) == pytest.approx(5.0) and x(sent[-1]) == pytest.approx(5.0), "at the last target, not beyond"


def test_a_halt_stands_at_once_drops_the_queue_and_lasts_until_a_step_drives() -> None:
    run = Run()
    run.observe()
    before = run.tick()
    run.motion.halt("observation: silent for 0.16 s, limit 0.15 s")
    after = [run.tick() for _ in range(5)]
    assert all(x(c) == x(before) for c in after) and after[-1].still
    assert run.motion.reason.startswith("observation")
    assert run.observe().reason == "" and run.motion.reason == ""
    assert x(run.tick()) > x(before)


def test_the_stop_of_a_person_stands_where_the_set_points_are() -> None:
    run = Run()
    run.observe()
    before = run.tick()
    assert run.observe(Mode.HOLD).driver is Driver.HOLD
    assert x(run.tick()) == x(before) and run.tick().still


@pytest.mark.parametrize(
    "wrong, why",
    [
        ({"force": np.array([0.0, 0.0, 45.0])}, "force: 45.0 N"),
        ({"mode": RobotMode.REFLEX}, "mode: the robot is in REFLEX"),
        ({"error": True}, "mode: the robot reports an error"),
    ],
)
def test_what_is_measured_between_two_observations_stops_the_set_points(wrong: dict, why: str) -> None:
    run = Run()
    run.observe()
    before = run.tick()
    after = run.tick(state(1, run.at, **wrong))
    assert after.still and x(after) == x(before) and run.motion.reason.startswith(why)
    assert x(run.tick()) == x(before), "it does not go on by itself when the force is gone"


def test_a_state_that_is_too_old_to_judge_by_holds_what_was_sent() -> None:
    run = Run()
    run.observe()
    before = run.tick()
    held = run.motion.command(run.now, None)
    assert held == Command(before.pose, True) and run.motion.reason.startswith("state:")
    fresh = Run()
    fresh.observe()
    assert fresh.motion.command(0.0, None) is None, "nothing was sent yet, and nothing is"


def test_a_reset_releases_the_controller() -> None:
    run = Run()
    run.observe()
    run.tick()
    run.motion.release()
    assert run.tick() is None and run.motion.standing is None
    run.at = CENTRE + [0.0, 0.05, 0.0]
    run.executor.interrupt(None)
    run.observe()
    first = run.tick()
    assert np.linalg.norm(first.pose.position - CENTRE - [0.0, 0.05, 0.0]) < 0.01, "from where it is now"


def test_a_halt_before_anything_was_commanded_is_nothing() -> None:
    run = Run()
    run.motion.halt("clock: time went back")
    assert run.motion.reason == "" and run.tick() is None


EVENT = st.tuples(
    st.sampled_from(["observe", "tick", "tick", "halt", "stop", "push"]),
    st.floats(-1.0, 1.0),
    st.floats(0.0, 0.15),
)


@given(st.lists(EVENT, max_size=40))
def test_whatever_comes_every_command_is_judged_against_the_newest_state(events: list[tuple]) -> None:
    run = Run()
    lower, upper = np.array(LIMITS.workspace.lower), np.array(LIMITS.workspace.upper)
    for what, value, seconds in events:
        if what == "observe":
            run.value = value
            run.observe()
        elif what == "stop":
            run.observe(Mode.HOLD)
        elif what == "halt":
            run.motion.halt("x: y")
        elif what == "push":
            run.at = run.at + value * 0.05
        measured = state(run.number, run.at.copy())
        before = run.motion.standing
        command = run.tick(replace(measured), seconds)
        if command is None or command.pose is before:
            continue
        step = np.linalg.norm(command.pose.position - measured.pose.position)
        assert step <= LIMITS.leash_translation + 1e-9
        assert (command.pose.position >= lower - 1e-12).all() and (command.pose.position <= upper + 1e-12).all()

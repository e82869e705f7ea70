"""Practise from here: poses that a person saves, and where the resets then end."""

from __future__ import annotations

import json

import numpy as np
import pytest
from loop_parts import ROBOT, executed, stamp

from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.starts import MOST, StartPoses
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver, Mode, PolicyMode

HERE, THERE = (0.03, -0.02, 0.05), (-0.05, 0.04, 0.02)


def proprio(position: tuple[float, ...], turn: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    return np.array([0.04, *position, *turn, *[0.0] * 12], np.float32)


def look_and_save(starts: StartPoses, *positions: tuple[float, ...]) -> None:
    for position in positions:
        starts.look(proprio(position))
        answer = starts.request(Request.START_HERE)
        assert answer.accepted, answer.message


def test_a_saved_pose_is_where_the_tool_was_in_the_base_frame() -> None:
    starts = StartPoses(ROBOT)
    starts.look(proprio(HERE, (0.0, 0.0, 0.3)))
    assert starts.request(Request.START_HERE).accepted
    step, turn = ROBOT.reference.to(starts.saved[0])
    assert step == pytest.approx(HERE) and turn == pytest.approx((0.0, 0.0, 0.3), abs=1e-6)


def test_the_seed_takes_one_of_the_saved_poses_and_none_in_an_evaluation() -> None:
    starts = StartPoses(ROBOT)
    assert starts.start(EpisodePlan(reset_seed=4)) is None
    look_and_save(starts, HERE, THERE)
    assert [starts.start(EpisodePlan(reset_seed=seed)) for seed in (4, 5)] == list(starts.saved)
    assert starts.start(EpisodePlan(reset_seed=4, record=False, evaluation=True)) is None
    assert starts.request(Request.START_ANYWHERE).message == "2 saved start poses forgotten"
    assert starts.start(EpisodePlan(reset_seed=4)) is None


def test_what_is_no_start_is_refused_with_the_reason() -> None:
    starts = StartPoses(ROBOT)
    assert "not known yet" in starts.request(Request.START_HERE).message
    assert "no start pose is saved" in starts.request(Request.START_ANYWHERE).message
    starts.look(proprio((0.3, 0.0, 0.0)))
    assert "lies outside the workspace" in starts.request(Request.START_HERE).message
    look_and_save(starts, HERE)
    assert "is saved already" in starts.request(Request.START_HERE).message
    look_and_save(starts, *[(0.0, 0.0, 0.003 * i) for i in range(MOST - 1)])
    starts.look(proprio(THERE))
    assert f"{MOST} poses are saved" in starts.request(Request.START_HERE).message
    teleporting = StartPoses(ROBOT, teleports=True)
    teleporting.look(proprio(HERE))
    assert "reset:=motion" in teleporting.request(Request.START_HERE).message


def test_saved_poses_outlive_the_process() -> None:
    starts, later = StartPoses(ROBOT), StartPoses(ROBOT)
    look_and_save(starts, HERE, THERE)
    later.take_up(json.loads(json.dumps(starts.state())))
    for a, b in zip(starts.saved, later.saved, strict=True):
        assert a.position == pytest.approx(b.position) and a.quaternion == pytest.approx(b.quaternion)


class Run:
    """A session at work; every reset takes one observation."""

    def __init__(self) -> None:
        always = lambda: (True, "")  # noqa: E731
        session = Session(SessionConfig(practice_minutes=1.0, eval_episodes=2, warmup_episodes=0), always)
        self.conductor = Conductor(PhaseMachine(always), session, StartPoses(ROBOT))
        self.conductor.starts.look(proprio(HERE))
        self.id, self.episode = 0, 0

    def step(self, *requests: Request, count: int = 5) -> list[PolicyMode]:
        for request in requests:
            answer = self.conductor.request(request)
            assert answer.accepted, answer.message
        words = []
        for _ in range(count):
            self.id += 1
            word = self.conductor.observe(self.id, stamp(self.id), self.episode).mode
            done = word.mode is Mode.RESET
            driver = Driver.RESET if done else Driver.VLA
            step = executed(self.id, driver, word.phase_id, episode=self.episode, reset_done=done)
            self.conductor.add_executed(step)
            self.episode += done
            words.append(word)
        return words


def start_of(words: list[PolicyMode]) -> list[tuple[float, ...]]:
    return [word.reset_start for word in words if word.mode is Mode.RESET]


def test_the_word_of_a_reset_names_the_start_from_the_very_next_episode_on() -> None:
    run = Run()
    assert start_of(run.step(Request.RESET)) == [()]
    run.step(Request.START_HERE)
    run.step(Request.BEGIN)
    (start,) = start_of(run.step(Request.SUCCESS))
    assert start[:3] == pytest.approx(ROBOT.reference.position + HERE)
    run.step(Request.BEGIN)
    run.step(Request.START_ANYWHERE)
    assert start_of(run.step(Request.FAILURE)) == [()]


def test_a_pose_saved_while_the_arm_waits_counts_for_the_reset_that_is_asked_for_then() -> None:
    run = Run()
    run.step(Request.START_HERE)
    (start,) = start_of(run.step(Request.RESET))
    assert Pose.of(start[:3], start[3:]).position == pytest.approx(ROBOT.reference.position + HERE)


def test_during_a_reset_nothing_changes_its_start() -> None:
    run = Run()
    run.conductor.request(Request.RESET)
    run.conductor.observe(1, stamp(1), 0)
    assert "a reset is in progress" in run.conductor.request(Request.START_HERE).message


def test_where_nothing_is_practised_there_are_no_start_poses() -> None:
    always = lambda: (True, "")  # noqa: E731
    conductor = Conductor(PhaseMachine(always), Session(SessionConfig(), always))
    assert not conductor.request(Request.START_HERE).accepted

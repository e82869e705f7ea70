"""The viewer's target is the executor's: the same steps through both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loop_parts import CENTRE, ROBOT, chunk, executed, mode, stamp, state

from rlt_ros.loop.executor import ChunkExecutor
from rlt_ros.loop.human import HumanCommand
from rlt_ros.monitor.target import TargetTrack, path
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver, Mode

POLICIES = (Driver.VLA, Driver.ACTOR)


@pytest.mark.parametrize("anchor", ["last_target", "measured"])
@pytest.mark.parametrize("seed", range(5))
def test_chunks_start_where_the_executor_goes_on(anchor: str, seed: int) -> None:
    robot, draws = replace(ROBOT, anchor=anchor), np.random.default_rng(seed)
    executor, track = ChunkExecutor(robot, chunk=3), TargetTrack(robot)
    at, asked, compared = CENTRE.copy(), Mode.VLA, 0
    for i in range(1, 150):
        if draws.random() < 0.2:
            asked = draws.choice([Mode.VLA, Mode.RL, Mode.HUMAN, Mode.HOLD, Mode.RESET])
        measured = state(i, at)
        start = track.start(i, measured.pose)
        driver = Driver.ACTOR if asked is Mode.RL else Driver.VLA
        command = HumanCommand(i, stamp(i), np.append(draws.uniform(-1, 1, 6), -1.0))
        result = None
        for _ in range(3):
            result = executor.step(i, stamp(i), 1, i, measured, mode(i, asked, int(asked is Mode.RL)), command)
            if result is None:
                phase_id = int(asked is Mode.RL)
                executor.offer(chunk(i, draws.uniform(-0.5, 0.5), driver, phase_id, length=3))
            elif result.wants_reset:
                executor.reset_finished(True)
            else:
                break
        done = result.executed
        if done.driver in POLICIES:
            compared += 1
            reached = path(robot.action_space, start, done.sent[None])[-1]
            np.testing.assert_allclose(reached, result.target.position, atol=1e-7)
        track.executed(done, measured.pose)
        at = at + 0.6 * ((result.target.position if result.target is not None else at) - at)
    assert compared > 30


def test_a_chunk_for_an_older_observation_starts_where_that_one_did() -> None:
    track, pose = TargetTrack(ROBOT), Pose.of(CENTRE, ROBOT.reference.quaternion)
    for i in range(1, 4):
        track.executed(executed(i, sent=np.array([1, 0, 0, 0, 0, 0, -1.0])), pose)
    moved = [track.start(i, None).position[0] - CENTRE[0] for i in (2, 3, 4)]
    np.testing.assert_allclose(moved, ROBOT.action_scale.translation * np.array([1, 2, 3]))


def test_without_a_measured_pose_nothing_is_made_up() -> None:
    track = TargetTrack(ROBOT)
    track.executed(executed(1), None)
    assert track.start(2, None) is None and track.start(7, None) is None


def test_a_path_turns_nothing_and_adds_up_deltas() -> None:
    start = Pose.of(CENTRE, ROBOT.reference.quaternion)
    actions = np.zeros((4, 7))
    actions[:, 2], actions[:, 5] = -1.0, 1.0
    points = path(ROBOT.action_space, start, actions)
    assert points.shape == (5, 3)
    np.testing.assert_allclose(points[:, 2] - CENTRE[2], -ROBOT.action_scale.translation * np.arange(5), atol=1e-12)
    np.testing.assert_allclose(points[:, :2], [CENTRE[:2]] * 5, atol=1e-12)

"""The demo task under each of the robot presets: the same set-points, another controller."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.controllers.base import Rejected
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import Step, rollout

JOINT_PRESETS = ("fr3_joint_trajectory", "fr3_servo")


@pytest.fixture(scope="module", params=JOINT_PRESETS)
def world(request: pytest.FixtureRequest) -> Iterator[PegInsertion]:
    made = PegInsertion(SimConfig(), load_robot(request.param))
    yield made
    made.close()


def episode(world: PegInsertion, seed: int) -> list[Step]:
    return list(rollout(world, Expert(world.robot), seed))


def test_the_expert_inserts_every_time(world: PegInsertion) -> None:
    episodes = [episode(world, seed) for seed in range(100, 106)]
    assert all(steps[-1].truth.success for steps in episodes)
    assert np.mean([len(steps) for steps in episodes]) <= 60
    assert max(float(np.linalg.norm(s.state.force)) for steps in episodes for s in steps) < 10.0


def test_the_same_seed_gives_the_same_motion_bit_for_bit(world: PegInsertion) -> None:
    first, second = ([s.state.joint_positions for s in episode(world, 7)] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_targets_are_reached_in_free_space_and_kept(world: PegInsertion) -> None:
    world.reset(3)
    target = world.pose
    for i in range(60):
        if i < 12:
            target = target.moved(np.array([0.003, -0.002, 0.004]), np.array([0.0, 0.0, 0.02]))
        world.command(target)
        world.step()
    step, turn = world.pose.to(target)
    assert np.linalg.norm(step) < 0.5e-3 and np.linalg.norm(turn) < 0.005
    assert np.linalg.norm(world.state().joint_velocities) < 0.01


def test_a_hold_stops_the_arm(world: PegInsertion) -> None:
    world.reset(3)
    target = world.pose
    for _ in range(10):
        target = target.moved(np.array([0.004, 0.0, 0.0]), np.zeros(3))
        world.command(target)
        world.step()
    at = world.pose
    for _ in range(10):
        world.hold(at)
        world.step()
    assert np.linalg.norm(world.state().joint_velocities) < 0.01
    assert np.linalg.norm(world.pose.position - at.position) < 0.012  # less than a tenth of a second of its way


def test_a_reset_leaves_nothing_of_earlier_commands(world: PegInsertion) -> None:
    world.reset(3)
    world.command(world.pose.moved(np.array([0.01, 0.0, 0.0]), np.zeros(3)))
    world.reset(3)
    start = world.pose
    for _ in range(5):
        world.step()
    assert np.linalg.norm(world.pose.position - start.position) < 1e-4


def test_a_command_of_another_back_end_is_rejected(world: PegInsertion) -> None:
    with pytest.raises(Rejected, match="expected a (joint trajectory|twist), found Pose"):
        world.accept(Pose.of([0.5, 0.0, 0.2], [1.0, 0.0, 0.0, 0.0]))

"""A plug that must be turned as well as moved, and a demonstrator who misses its socket on either side (issue 8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.data.images import square
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import proprioception
from rlt_ros.sim.expert import Demonstrator, DemonstratorConfig, Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import Step, rollout
from rlt_ros.sim.tasks import TASKS
from rlt_ros.sim.truth import Truth

CONNECTOR = TASKS["connector"]
EXACT = replace(CONNECTOR.demonstrator, side_error=0.004, episode_error=0.0, chunk_error=0.0, noise=0.0)


@pytest.fixture(scope="module")
def connector(robot: RobotConfig) -> Iterator[PegInsertion]:
    world = PegInsertion(CONNECTOR.sim, robot)
    yield world
    world.close()


def in_socket(truth: Truth) -> np.ndarray:
    """Tip (3,) in the axes of the socket, m."""
    return truth.hole.rotation.inv().apply(truth.tip - truth.hole.position)


def stuck(world: PegInsertion, robot: RobotConfig, side: float, seed: int = 4) -> Step:
    """The last step of a demonstrator who misses on one side, +1 or -1, throughout."""
    person = Demonstrator(robot, EXACT)
    while True:
        person.reset()
        if np.sign(person.side) == side:
            break
    return list(rollout(world, _Kept(person), seed, max_steps=70, images=True))[-1]


class _Kept:
    """A demonstrator whose episode goes on."""

    def __init__(self, person: Demonstrator) -> None:
        self.action = person.action

    def reset(self) -> None:
        """Nothing: the side stays."""


def test_the_expert_turns_and_inserts_every_time(connector: PegInsertion, robot: RobotConfig) -> None:
    force = []
    for seed in range(100, 130):
        steps = list(rollout(connector, Expert(robot), seed))
        truth, pose = steps[-1].truth, steps[-1].state.pose
        force += [float(np.linalg.norm(step.state.force)) for step in steps]
        assert truth.success and truth.depth > CONNECTOR.sim.peg.success_depth
        turned = (pose.rotation * robot.reference.rotation.inv()).as_rotvec()[2]
        assert turned == pytest.approx(truth.turn, abs=0.06)
    assert max(force) <= 32.0  # N, step mean


class _Straight:
    """An expert who does not see that the socket is turned."""

    def __init__(self, robot: RobotConfig) -> None:
        self._expert = Expert(robot)

    def reset(self) -> None:
        """Nothing to forget."""

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        return self._expert.action(replace(truth, turn=0.0), measured, target)


def test_without_turning_the_plug_does_not_go_in(connector: PegInsertion, robot: RobotConfig) -> None:
    turned = 0
    for seed in range(100, 120):
        connector.reset(seed)
        if abs(connector.truth().turn) > 0.15:
            turned += 1
            assert not list(rollout(connector, _Straight(robot), seed))[-1].truth.success
    assert turned >= 3


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_who_misses_rests_on_the_rim_of_that_side(connector: PegInsertion, robot: RobotConfig, side: float) -> None:
    step = stuck(connector, robot, side)
    along, across, up = in_socket(step.truth)
    assert not step.truth.success and abs(up) < 0.0005
    assert 0.002 < side * across < 0.006 and abs(along) < 0.002
    assert step.state.force[2] > 5.0  # it leans on the rim


def test_either_side_is_as_likely(robot: RobotConfig) -> None:
    person, sides = Demonstrator(robot, CONNECTOR.demonstrator, seed=0), []
    for _ in range(400):
        person.reset()
        sides.append(np.sign(person.side))
    assert set(sides) == {1.0, -1.0} and abs(np.mean(sides)) < 0.15


def test_the_pictures_tell_the_side_and_a_constant_offset_does_not_cure_it(
    connector: PegInsertion, robot: RobotConfig
) -> None:
    first, second = (stuck(connector, robot, side).images["wrist"] for side in (1.0, -1.0))
    small = [square(picture, 64).astype(int) for picture in (first, second)]
    assert (np.abs(small[0] - small[1]).max(axis=2) > 60).sum() > 40
    capture = CONNECTOR.sim.peg.clearance + CONNECTOR.sim.peg.chamfer
    assert 2 * CONNECTOR.demonstrator.side_error > 2 * capture


def test_proprioception_at_the_start_does_not_tell_the_turn_of_the_socket(robot: RobotConfig) -> None:
    seen, turns = [], []
    for yaw in (0.05, 0.35):
        random = replace(CONNECTOR.sim.random, yaw=yaw)
        world = PegInsertion(replace(CONNECTOR.sim, random=random), robot)
        world.reset(3)
        state = world.state()
        twist = tool_twist(state.joint_positions, state.joint_velocities)
        seen.append(proprioception(state, robot.reference, twist))
        turns.append(world.truth().turn)
    assert abs(turns[0] - turns[1]) > 0.05
    np.testing.assert_array_equal(*seen)


def test_the_wrench_tells_little_of_the_side(connector: PegInsertion, robot: RobotConfig) -> None:
    sensors = CONNECTOR.sim.sensors
    assert sensors.force_noise >= 1.0 and sensors.torque_noise >= 0.1  # as of a real arm's estimate
    torque = [stuck(connector, robot, side, seed).state.torque for seed in range(3) for side in (1.0, -1.0)]
    assert np.abs(torque).max() < 6 * sensors.torque_noise


def test_who_has_no_such_error_does_the_same_as_before(world: PegInsertion, robot: RobotConfig) -> None:
    assert DemonstratorConfig().side_error == 0.0
    person = Demonstrator(robot, seed=3)
    assert person.side == 0.0 and np.isnan(world.truth().turn)

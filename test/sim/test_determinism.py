from __future__ import annotations

import numpy as np

from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.expert import Demonstrator
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import rollout


def course(world: PegInsertion, robot: RobotConfig, seed: int) -> list[np.ndarray]:
    """Everything that an episode shows, contact included."""
    record = []
    for step in rollout(world, Demonstrator(robot, seed=3), seed, max_steps=40):
        s = step.state
        record.append(np.concatenate([s.joint_positions, s.joint_velocities, s.force, s.torque, step.action]))
    return record


def pictures(world: PegInsertion, seed: int) -> list[np.ndarray]:
    world.reset(seed)
    first = world.render()
    world.step()
    return [*first.values(), *world.render().values()]


def test_same_seed_same_course_bit_for_bit(world: PegInsertion, robot: RobotConfig) -> None:
    first = course(world, robot, 5)
    course(world, robot, 6)
    fresh = PegInsertion(SimConfig(), robot, seed=9)
    for other in (course(world, robot, 5), course(fresh, robot, 5)):
        np.testing.assert_array_equal(first, other)


def test_same_seed_same_pictures_bit_for_bit(world: PegInsertion, robot: RobotConfig) -> None:
    first = pictures(world, 5)
    pictures(world, 6)
    fresh = PegInsertion(SimConfig(), robot, seed=9)
    for other in (pictures(world, 5), pictures(fresh, 5)):
        np.testing.assert_array_equal(first, other)
    fresh.close()


def test_different_seeds_differ(world: PegInsertion) -> None:
    world.reset(5)
    first = world.episode
    world.reset(6)
    assert not np.array_equal(first.hole.position, world.episode.hole.position)
    assert first.friction != world.episode.friction and first.light != world.episode.light


def test_own_sequence_does_not_depend_on_explicit_resets(robot: RobotConfig) -> None:
    one, two = (PegInsertion(SimConfig(), robot, seed=4) for _ in range(2))
    seeds = []
    for _ in range(3):
        seeds.append(one.episode.seed)
        one.reset(None)
    for seed in seeds:
        assert two.episode.seed == seed
        two.reset(7)
        two.reset(None)


def test_reading_the_world_does_not_change_it(world: PegInsertion) -> None:
    world.step()
    first, again = world.state(), world.state()
    np.testing.assert_array_equal(first.force, again.force)
    for name, picture in world.render().items():
        np.testing.assert_array_equal(picture, world.render()[name])

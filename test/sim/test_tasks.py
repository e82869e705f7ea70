"""A task in which only the pictures tell how the demonstrator errs (issue 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.data.images import square
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import proprioception
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.episode import draw
from rlt_ros.sim.expert import Demonstrator, DemonstratorConfig, Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import rollout
from rlt_ros.sim.tasks import TASKS, find_task

MARKED = TASKS["yaw_mark"]
Pointing = Callable[[float], PegInsertion]


@pytest.fixture
def pointing(robot: RobotConfig) -> Iterator[Pointing]:
    """Makes worlds of the task whose mark points in one direction (rad) in every episode."""
    worlds = []

    def make(direction: float) -> PegInsertion:
        sim = replace(MARKED.sim, random=replace(MARKED.sim.random, mark=(direction, direction)))
        worlds.append(PegInsertion(sim, robot))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def seen(world: PegInsertion, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Proprioception and policy pictures at the start of an episode."""
    world.reset(seed)
    state = world.state()
    twist = tool_twist(state.joint_positions, state.joint_velocities)
    pictures = {name: square(picture, 64) for name, picture in world.render().items()}
    return proprioception(state, world.robot.reference, twist), pictures


@pytest.mark.parametrize("seed", range(4))
def test_the_pictures_tell_where_the_mark_points_and_proprioception_does_not(pointing: Pointing, seed: int) -> None:
    (one, first), (other, second) = seen(pointing(0.4), seed), seen(pointing(-2.1), seed)
    np.testing.assert_array_equal(one, other)
    for camera in first:
        assert (np.abs(first[camera].astype(int) - second[camera]).max(axis=2) > 60).sum() > 100


def test_the_mark_points_anywhere_whatever_else_is_drawn(robot: RobotConfig) -> None:
    episodes = [draw(MARKED.sim, robot.reference, seed) for seed in range(2000)]
    direction = np.array([e.mark for e in episodes])
    assert np.histogram(direction, 8, (-np.pi, np.pi))[0].min() > 200
    rest = np.array([[*e.hole.position[:2], *e.hole.quaternion, *e.start.position, *e.start.quaternion, e.friction,
                      e.light] for e in episodes])  # fmt: skip
    varied = rest[:, rest.std(axis=0) > 1e-9]
    compass = np.column_stack([np.cos(direction), np.sin(direction)])
    linked = np.corrcoef(varied.T, compass.T)[:-2, -2:]
    assert np.abs(linked).max() < 0.1


def test_a_mark_changes_no_other_part_of_an_episode(robot: RobotConfig) -> None:
    for seed in range(5):
        plain, marked = (draw(sim, robot.reference, seed) for sim in (SimConfig(), MARKED.sim))
        assert (plain.friction, plain.light) == (marked.friction, marked.light)
        np.testing.assert_array_equal(plain.hole.position, marked.hole.position)
        np.testing.assert_array_equal(plain.start.position, marked.start.position)


@pytest.mark.parametrize("direction", [0.0, 1.2, -2.5])
def test_the_demonstrator_errs_towards_the_mark(pointing: Pointing, robot: RobotConfig, direction: float) -> None:
    exact = replace(MARKED.demonstrator, mark_error=0.02, episode_error=0.0, chunk_error=0.0, noise=0.0)
    steps = list(rollout(pointing(direction), Demonstrator(robot, exact), seed=4, max_steps=60))
    end = steps[-1].truth
    wanted = 0.02 * np.array([np.cos(direction), np.sin(direction)])
    np.testing.assert_allclose((end.tip - end.hole.position)[:2], wanted, atol=0.004)


def test_whoever_helps_in_practice_is_not_misled(pointing: Pointing, robot: RobotConfig) -> None:
    courses = [list(rollout(pointing(direction), Expert(robot), seed=4)) for direction in (0.0, 2.0)]
    assert courses[0][-1].truth.success
    np.testing.assert_array_equal(*([step.action for step in course] for course in courses))


def test_a_demonstrator_who_looks_for_a_mark_needs_one(world: PegInsertion, robot: RobotConfig) -> None:
    lost = Demonstrator(robot, DemonstratorConfig(mark_error=0.003))
    with pytest.raises(ValueError, match="mark_error is 0.003 m, but the board carries no mark"):
        lost.action(world.truth(), world.pose, world.pose)


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="task is 'peg2'; known are peg, yaw_mark, connector"):
        find_task("peg2")

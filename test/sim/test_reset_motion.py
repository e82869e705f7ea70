"""The reset as a motion of the simulated arm: out of the hole, to the start, and into an obstacle by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.reset import draw
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import rollout
from rlt_ros.types import Driver, Mode, Phase, PolicyMode

PERIOD = 50_000_000


def word(i: int, seed: int) -> PolicyMode:
    return PolicyMode(i, i * PERIOD, Mode.RESET, Phase.LABELLED, 0, 1, False, False, False, reset_seed=seed)


def reset(world: PegInsertion, robot: RobotConfig, seed: int, first: int = 1, steps: int = 700) -> list[StepResult]:
    """Control steps until the reset has ended, well or badly."""
    executor, results = ChunkExecutor(robot, chunk=10, moves=True), []
    for i in range(first, first + steps):
        state = replace(world.state(), stamp=i * PERIOD)
        results.append(executor.step(i, i * PERIOD, 1, i, state, word(i, seed)))
        if results[-1].target is not None:
            world.command(results[-1].target)
        if results[-1].executed.reset_done or results[-1].executed.driver is not Driver.RESET:
            break
        world.step()
    return results


def off(pose: Pose, robot: RobotConfig, seed: int) -> tuple[float, float]:
    step, turn = pose.to(draw(robot.reset.start, seed))
    return float(np.linalg.norm(step)), float(np.linalg.norm(turn))


@pytest.mark.parametrize("seed", [3, 4])
def test_from_the_bottom_of_the_hole_to_the_start(robot: RobotConfig, seed: int) -> None:
    world = PegInsertion(SimConfig(), robot)
    truth = [step.truth for step in rollout(world, Expert(robot), seed)][-1]
    assert truth.success
    results = reset(world, robot, seed)
    assert results[-1].executed.reset_done
    step, turn = off(world.pose, robot, seed)
    assert step <= robot.reset.tolerance and turn <= robot.reset.rotation_tolerance
    assert len(results) < 20 * robot.control_rate
    print(f"\n{len(results)} steps")


def test_pressing_on_the_board_it_lifts_first(robot: RobotConfig) -> None:
    world = PegInsertion(SimConfig(), robot)
    world.reset(5)
    for _ in range(60):
        world.command(Pose(world.pose.position + [0.0, 0.0, -0.009], world.pose.quaternion))
        world.step()
    pressed = world.pose.position
    assert np.linalg.norm(world.state().force) > 3.0
    results = reset(world, robot, 5)
    assert results[-1].executed.reset_done
    early = np.array([result.target.position for result in results[:10]])
    np.testing.assert_allclose(early[:, :2], np.broadcast_to(pressed[:2], (10, 2)), atol=1e-6)


def test_a_start_below_the_board_ends_on_the_board_by_name(robot: RobotConfig) -> None:
    world = PegInsertion(SimConfig(), robot)
    world.reset(6)
    low = replace(robot.reset.start, position=(0.45, 0.05, 0.09))
    results = reset(world, replace(robot, reset=replace(robot.reset, start=low)), 6)
    reason = results[-1].executed.reason
    assert reason.startswith("reset: failed: ") and ("an obstacle?" in reason or "force" in reason)
    assert results[-1].executed.driver is Driver.HOLD

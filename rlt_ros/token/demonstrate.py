"""Demonstrations by the imperfect operator of the simulator, as the robot would have seen and executed them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.images import square
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.sim.expert import Demonstrator
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import Step, rollout
from rlt_ros.sim.tasks import find_task
from rlt_ros.token.config import Stage1Config


def demonstrations(
    config: Stage1Config, robot: RobotConfig, seed: int, size: int | None = None
) -> Iterator[Demonstration]:
    """`config.demonstrations` episodes of `config.task`, one by one; the same seed gives the same ones.

    size: side of the pictures, pixels; None: as the new VLA of the configuration wants them.
    """
    size = size or config.vla.image_size
    task = find_task(config.task)
    seeds = np.random.default_rng(seed).integers(2**31, size=config.demonstrations)
    operator = Demonstrator(robot, task.demonstrator, seed)
    world = PegInsertion(task.sim, robot)
    try:
        for number, start in enumerate(seeds):
            steps = list(rollout(world, operator, int(start), images=True))
            yield _demonstration(number, steps, world, size)
    finally:
        world.close()


def _demonstration(number: int, steps: list[Step], world: PegInsertion, size: int) -> Demonstration:
    return Demonstration(
        id=number,
        images={name: np.stack([square(step.images[name], size) for step in steps]) for name in steps[0].images},
        proprio=np.stack([_proprio(step.state, world.robot) for step in steps]),
        actions=np.stack([step.action for step in steps]),
        offset=np.stack([_offset(step, world.config.peg.tip_offset) for step in steps]),
        success=steps[-1].truth.success,
    )


def _proprio(state: RobotState, robot: RobotConfig) -> np.ndarray:
    twist = tool_twist(state.joint_positions, state.joint_velocities)
    return proprioception(state, robot.reference, twist)


def _offset(step: Step, tip_offset: float) -> np.ndarray:
    """From tip to hole when the picture was taken; `Step.truth` is from after the action, but the hole stands still."""
    pose = step.state.pose
    tip = pose.position + pose.rotation.apply([0.0, 0.0, tip_offset])
    return (step.truth.hole.position - tip)[:2].astype(np.float32)

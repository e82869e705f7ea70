"""One episode in one process: a scripted policy drives the simulated arm through action space and safety module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.robot.safety import Safety
from rlt_ros.robot.state import RobotState
from rlt_ros.sim.expert import Policy
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.truth import Truth

MAX_STEPS = 100
"""Control steps after which an episode counts as failed."""


@dataclass(frozen=True)
class Step:
    """One control step: what was measured before the action, the action float32 (7,), and the truth after it.

    The action is recomputed from the command that was really sent. images: empty unless asked for.
    """

    state: RobotState
    images: dict[str, np.ndarray]
    action: np.ndarray
    truth: Truth


def rollout(
    world: PegInsertion, policy: Policy, seed: int | None = None, max_steps: int = MAX_STEPS, images: bool = False
) -> Iterator[Step]:
    """Reset the world to a seed and yield one step after the other until success or the time limit.

    Deltas start from the last target (`anchor: last_target`); the leash is the safety module's, and where it wants a
    hold the target becomes the measured pose.
    """
    world.reset(seed)
    policy.reset()
    safety = Safety(world.robot.limits, world.robot.reference)
    target, truth = world.pose, world.truth()
    for _ in range(max_steps):
        state = world.state()
        pictures = world.render() if images else {}
        wanted = policy.action(truth, state.pose, target)
        target, sent = _send(world, safety, state, target, wanted)
        world.step()
        truth = world.truth()
        yield Step(state, pictures, sent, truth)
        if truth.success:
            return


def _send(
    world: PegInsertion, safety: Safety, state: RobotState, anchor: Pose, wanted: np.ndarray
) -> tuple[Pose, np.ndarray]:
    """Command what safety leaves of an action; returns the new target and the action that leads to it."""
    space = world.robot.action_space
    target = safety.check(space.target(anchor, wanted), state).target
    if target is None or world.refuses(target, state):
        target = state.pose
        world.hold(target)
    else:
        world.command(target)
    return target, np.clip(space.action(anchor, target, float(wanted[-1])), -1.0, 1.0)

"""Set-points between control steps do not keep the expert from inserting the peg: 100 Hz, virtual time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.loop.setpoints import INTERPOLATION, setpoints_of
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.safety import Safety
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task

ROBOT = load_robot()
LATENCY_MS = 8
"""From an observation to its command."""


def insert(world: PegInsertion, seed: int) -> int:
    """Control steps until the peg is in, 100 if it is not."""
    world.reset(seed)
    expert, safety = Expert(ROBOT), Safety(ROBOT.limits, ROBOT.reference)
    points, target, due = setpoints_of(ROBOT, INTERPOLATION), None, []
    phase = int(np.random.default_rng(seed).integers(20))
    for ms in range(100 * 50):
        if ms % 10 == 0:
            world.step()
        if ms % 50 == 0:
            truth, state = world.truth(), world.state()
            if truth.success:
                return ms // 50
            anchor = target or state.pose
            action = expert.action(truth, state.pose, anchor)
            due = [(ms + LATENCY_MS, ROBOT.action_space.target(anchor, action), state)]
        answered = bool(due) and ms >= due[0][0]
        if answered:
            _, wanted, state = due.pop()
            target = safety.check(wanted, state).target or state.pose
            points.aim(target, ms / 1e3, state.pose)
        point = points.at(ms / 1e3) if answered or ms % 20 == phase else None
        if point is not None:
            world.command(safety.check(point, world.state()).target or point)
    return 100


def test_the_expert_succeeds_as_in_lockstep() -> None:
    config = find_task(DEFAULT_TASK).sim
    finer = replace(config, control=replace(config.control, cycles=1))
    world = PegInsertion(finer, replace(ROBOT, control_rate=100.0))
    steps = [insert(world, seed) for seed in range(6)]
    assert max(steps) < 100 and np.mean(steps) == pytest.approx(48.0, abs=6.0)

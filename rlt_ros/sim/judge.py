"""Whether the peg is in, and what else the simulator knows of it."""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.shapes.choice import shape_of
from rlt_ros.sim.truth import Truth


def judge(tip: np.ndarray, hole: Pose, config: SimConfig, mark: float = math.nan) -> Truth:
    """The truth for a tip (3,) and a hole: success is deeper than `peg.success_depth` and within the hole."""
    offset = hole.rotation.inv().apply(tip - hole.position)
    depth, lateral = -float(offset[2]), float(np.hypot(offset[0], offset[1]))
    shape = shape_of(config.peg)
    success = depth > config.peg.success_depth and shape.takes(float(offset[0]), float(offset[1]))
    turn = float(hole.rotation.as_rotvec()[2]) if shape.turns else math.nan
    return Truth(tip.copy(), hole, depth, lateral, success, mark, turn)

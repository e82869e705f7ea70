"""What only a simulator knows: where the peg really is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.shapes.choice import shape_of


@dataclass(frozen=True)
class Truth:
    """Peg and hole at one moment, base frame.

    tip: float64 (3,), middle of the peg's end face, m. hole: middle of the hole on the board's surface, z up.
    depth: m, of the tip below the surface, negative above it. lateral: m, distance of the tip from the hole's axis.
    success: the tip is deep enough inside the hole at this moment; nothing is remembered. mark: rad about z, direction
    from the hole to the pad, base frame; NaN on a board without one. turn: rad about z from the upright tool to one
    that fits the hole; NaN where any does.
    """

    tip: np.ndarray
    hole: Pose
    depth: float
    lateral: float
    success: bool
    mark: float = math.nan
    turn: float = math.nan


def judge(tip: np.ndarray, hole: Pose, config: SimConfig, mark: float = math.nan) -> Truth:
    """The truth for a tip (3,) and a hole: success is deeper than `peg.success_depth` and within the hole."""
    offset = hole.rotation.inv().apply(tip - hole.position)
    depth, lateral = -float(offset[2]), float(np.hypot(offset[0], offset[1]))
    shape = shape_of(config.peg)
    success = depth > config.peg.success_depth and shape.takes(float(offset[0]), float(offset[1]))
    turn = float(hole.rotation.as_rotvec()[2]) if shape.turns else math.nan
    return Truth(tip.copy(), hole, depth, lateral, success, mark, turn)

"""What only a simulator knows: where the peg really is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlt_ros.robot.pose import Pose


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

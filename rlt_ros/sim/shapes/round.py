"""A round peg, and a round hole: sixteen boxes in a ring."""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.sim.config import PegConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.shapes.base import DARK, RIM, SOLID, VISUAL

PEG_SIDES = 32
SIDES = 16


class Round:
    """Radius of the peg, and of the hole."""

    turns = False

    def __init__(self, peg: PegConfig) -> None:
        self._peg, self._hole = peg.radius, peg.radius + peg.clearance
        self.grip = 2 * self._peg
        # Behind the faces of the ring, or the two would flicker.
        self.opening = (1.05 * self._hole, 1.05 * self._hole)
        self.rim = 1.5 * self._hole + 0.002

    def outline(self, inset: float) -> np.ndarray:
        """The 32 corners of the peg."""
        angle = np.arange(PEG_SIDES) * 2 * np.pi / PEG_SIDES
        return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (self._peg - inset)

    def takes(self, x: float, y: float) -> bool:
        """Within the hole's radius."""
        return float(np.hypot(x, y)) < self._hole

    def line(self, board: mujoco.MjsBody, half: float) -> None:
        """Boxes whose inner faces touch the hole's circle and that reach past the corners of the square opening."""
        outer = 1.5 * self._hole
        for i in range(SIDES):
            angle = 2 * math.pi * i / SIDES
            _add_sector(board, angle, (self._hole, outer), (-half, half), {"rgba": DARK, **SOLID})
            # Covers the tops of the solid boxes, which would flicker against the plates that they overlap.
            _add_sector(board, angle, (self._hole, self.rim), (0.0, 0.0003), {"rgba": RIM, **VISUAL})
        cylinder, bottom = mujoco.mjtGeom.mjGEOM_CYLINDER, (0, 0, -2 * half + 0.001)
        board.add_geom(type=cylinder, pos=bottom, size=(self._hole, 0.0005, 0), rgba=DARK, **VISUAL)


def _add_sector(
    board: mujoco.MjsBody, angle: float, radii: tuple[float, float], height: tuple[float, float], style: dict
) -> None:
    """One box of a ring. radii: inner and outer, m. height: of its middle, and half its height, m."""
    middle, half = sum(radii) / 2, (radii[1] - radii[0]) / 2
    board.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=(middle * math.cos(angle), middle * math.sin(angle), height[0]),
        size=(half, radii[1] * math.tan(math.pi / SIDES), height[1]),
        quat=(math.cos(angle / 2), 0, 0, math.sin(angle / 2)), **style,
    )  # fmt: skip

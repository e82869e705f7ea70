"""A rectangular peg, such as a plug, and its socket: four walls."""

from __future__ import annotations

import numpy as np

from rlt_ros.sim.config import PegConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.shapes.base import DARK, RIM, SOLID, VISUAL

WALL = 0.003
"""m, thickness of the socket's walls."""
RIM_WIDTH = 0.004
"""m, of the coloured rim around the socket."""


class Rectangular:
    """Half sides of the peg, and of the hole. It fits in two ways, half a turn apart."""

    turns = True

    def __init__(self, peg: PegConfig) -> None:
        self._peg = np.array(peg.sides) / 2
        self._hole = self._peg + peg.clearance
        self.grip = float(peg.sides[1])
        x, y = (float(half) for half in self._hole)
        self.opening = (x + WALL, y + WALL)
        self.rim = x + RIM_WIDTH

    def outline(self, inset: float) -> np.ndarray:
        """The four corners of the peg."""
        return np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (self._peg - inset)

    def takes(self, x: float, y: float) -> bool:
        """Within both half sides of the hole."""
        return bool((np.abs([x, y]) < self._hole).all())

    def line(self, board: mujoco.MjsBody, half: float) -> None:
        """Four solid walls, whose tops the rim covers."""
        _add_frame(board, self._hole, WALL, (-half, half), {"rgba": DARK, **SOLID})
        _add_frame(board, self._hole, RIM_WIDTH, (0.0, 0.0003), {"rgba": RIM, **VISUAL})
        x, y = self._hole
        _add_box(board, (0, 0, -2 * half + 0.001), (x, y, 0.0005), {"rgba": DARK, **VISUAL})


def _add_frame(
    board: mujoco.MjsBody, inner: np.ndarray, width: float, height: tuple[float, float], style: dict
) -> None:
    """Four boxes around a rectangle of half sides `inner`. height: of their middles, and half their height, m."""
    (x, y), breadth = inner, width / 2
    for side in (1, -1):
        _add_box(board, (side * (x + breadth), 0, height[0]), (breadth, y + width, height[1]), style)
        _add_box(board, (0, side * (y + breadth), height[0]), (x, breadth, height[1]), style)


def _add_box(board: mujoco.MjsBody, pos: tuple, size: tuple, style: dict) -> None:
    board.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, **style)

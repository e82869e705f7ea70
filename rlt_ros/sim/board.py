"""The board: four boxes around a square opening, and sixteen boxes that make the opening a round hole."""

from __future__ import annotations

import math

from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.engine import mujoco

SIDES = 16
LIGHT = (0.82, 0.80, 0.74, 1.0)
DARK = (0.03, 0.03, 0.04, 1.0)
RIM = (0.95, 0.55, 0.08, 1.0)
STRIPE = (0.10, 0.45, 0.30, 1.0)
PAD = (0.65, 0.05, 0.45, 1.0)
PAD_GAP = 0.003
"""m, between the coloured ring around the hole and the pad."""
BOX = mujoco.mjtGeom.mjGEOM_BOX
_SOLID = {"contype": 1, "conaffinity": 1, "condim": 3, "mass": 0.1}
_VISUAL = {"contype": 0, "conaffinity": 0, "mass": 0}


def add_board(world: mujoco.MjsBody, config: SimConfig) -> None:
    """Add body `board` (mocap: placed anew at every reset), origin in the middle of the hole on the board's surface."""
    board = world.add_body(name="board", mocap=True, pos=(*config.board.position, config.board.height))
    _add_plates(board, config)
    _add_ring(board, config)
    _add_stripes(board, config)


def add_mark(world: mujoco.MjsBody, config: SimConfig) -> None:
    """Add body `mark` (mocap, origin in the middle of the hole): a flat pad in the direction of its x axis."""
    mark = world.add_body(name="mark", mocap=True, pos=(*config.board.position, config.board.height))
    along, across = (size / 2 for size in config.board.mark)
    mark.add_geom(
        type=BOX, pos=(_rim(config) + PAD_GAP + along, 0, 0), size=(along, across, 0.0002), rgba=PAD, **_VISUAL
    )


def _rim(config: SimConfig) -> float:
    """Outer radius of the coloured ring around the hole, m."""
    return 1.5 * config.hole_radius + 0.002


def _add_plates(board: mujoco.MjsBody, config: SimConfig) -> None:
    # Behind the faces of the ring, or the two would flicker.
    inner, outer, half = 1.05 * config.hole_radius, config.board.half_size, config.board.height / 2
    middle, breadth = (inner + outer) / 2, (outer - inner) / 2
    for x, y, sx, sy in (
        (middle, 0, breadth, outer),
        (-middle, 0, breadth, outer),
        (0, middle, inner, breadth),
        (0, -middle, inner, breadth),
    ):
        board.add_geom(type=BOX, pos=(x, y, -half), size=(sx, sy, half), rgba=LIGHT, **_SOLID)


def _add_ring(board: mujoco.MjsBody, config: SimConfig) -> None:
    """Boxes whose inner faces touch the hole's circle and that reach past the corners of the square opening."""
    radius, half = config.hole_radius, config.board.height / 2
    outer = 1.5 * radius
    for i in range(SIDES):
        angle = 2 * math.pi * i / SIDES
        _add_sector(board, angle, (radius, outer), (-half, half), {"rgba": DARK, **_SOLID})
        # Covers the tops of the solid boxes, which would flicker against the plates that they overlap.
        _add_sector(board, angle, (radius, _rim(config)), (0.0, 0.0003), {"rgba": RIM, **_VISUAL})
    board.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=(0, 0, -2 * half + 0.001),
        size=(radius, 0.0005, 0),
        rgba=DARK,
        **_VISUAL,
    )


def _add_sector(
    board: mujoco.MjsBody, angle: float, radii: tuple[float, float], height: tuple[float, float], style: dict
) -> None:
    """One box of a ring. radii: inner and outer, m. height: of its middle, and half its height, m."""
    middle, half = sum(radii) / 2, (radii[1] - radii[0]) / 2
    board.add_geom(
        type=BOX, pos=(middle * math.cos(angle), middle * math.sin(angle), height[0]),
        size=(half, radii[1] * math.tan(math.pi / SIDES), height[1]),
        quat=(math.cos(angle / 2), 0, 0, math.sin(angle / 2)), **style,
    )  # fmt: skip


def _add_stripes(board: mujoco.MjsBody, config: SimConfig) -> None:
    """Two stripes that show the board's yaw."""
    edge = config.board.half_size
    board.add_geom(type=BOX, pos=(edge - 0.012, 0, 0), size=(0.004, edge - 0.01, 0.0002), rgba=STRIPE, **_VISUAL)
    board.add_geom(type=BOX, pos=(0, edge - 0.012, 0), size=(edge - 0.03, 0.004, 0.0002), rgba=STRIPE, **_VISUAL)

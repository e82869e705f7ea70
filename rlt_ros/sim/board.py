"""The board: four boxes around a rectangular opening, which its shape makes a hole."""

from __future__ import annotations

from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.shapes.base import SOLID, VISUAL
from rlt_ros.sim.shapes.choice import shape_of

LIGHT = (0.82, 0.80, 0.74, 1.0)
STRIPE = (0.10, 0.45, 0.30, 1.0)
PAD = (0.65, 0.05, 0.45, 1.0)
PAD_GAP = 0.003
"""m, between the coloured rim around the hole and the pad."""
BOX = mujoco.mjtGeom.mjGEOM_BOX


def add_board(world: mujoco.MjsBody, config: SimConfig) -> None:
    """Add body `board` (mocap: placed anew at every reset), origin in the middle of the hole on the board's surface."""
    board = world.add_body(name="board", mocap=True, pos=(*config.board.position, config.board.height))
    shape = shape_of(config.peg)
    _add_plates(board, config, shape.opening)
    shape.line(board, config.board.height / 2)
    _add_stripes(board, config)


def add_mark(world: mujoco.MjsBody, config: SimConfig) -> None:
    """Add body `mark` (mocap, origin in the middle of the hole): a flat pad in the direction of its x axis."""
    mark = world.add_body(name="mark", mocap=True, pos=(*config.board.position, config.board.height))
    along, across = (size / 2 for size in config.board.mark)
    middle = shape_of(config.peg).rim + PAD_GAP + along
    mark.add_geom(type=BOX, pos=(middle, 0, 0), size=(along, across, 0.0002), rgba=PAD, **VISUAL)


def _add_plates(board: mujoco.MjsBody, config: SimConfig, opening: tuple[float, float]) -> None:
    (inner, _), outer, half = opening, config.board.half_size, config.board.height / 2
    (middle_x, breadth_x), (middle_y, breadth_y) = (((i + outer) / 2, (outer - i) / 2) for i in opening)
    for x, y, sx, sy in (
        (middle_x, 0, breadth_x, outer),
        (-middle_x, 0, breadth_x, outer),
        (0, middle_y, inner, breadth_y),
        (0, -middle_y, inner, breadth_y),
    ):
        board.add_geom(type=BOX, pos=(x, y, -half), size=(sx, sy, half), rgba=LIGHT, **SOLID)


def _add_stripes(board: mujoco.MjsBody, config: SimConfig) -> None:
    """Two stripes that show the board's yaw."""
    edge = config.board.half_size
    board.add_geom(type=BOX, pos=(edge - 0.012, 0, 0), size=(0.004, edge - 0.01, 0.0002), rgba=STRIPE, **VISUAL)
    board.add_geom(type=BOX, pos=(0, edge - 0.012, 0), size=(edge - 0.03, 0.004, 0.0002), rgba=STRIPE, **VISUAL)

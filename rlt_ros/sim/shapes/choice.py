"""The shape that a config names."""

from __future__ import annotations

from rlt_ros.sim.config import PegConfig
from rlt_ros.sim.shapes.base import Shape
from rlt_ros.sim.shapes.rectangular import Rectangular
from rlt_ros.sim.shapes.round import Round

SHAPES: dict[str, type[Shape]] = {"round": Round, "rectangular": Rectangular}


def shape_of(peg: PegConfig) -> Shape:
    """The shape of a peg and its hole; `PegConfig` knows the same names."""
    return SHAPES[peg.shape](peg)

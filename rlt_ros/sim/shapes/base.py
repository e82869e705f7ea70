"""What a shape says about itself, so that the rest of the simulator need not ask which one it is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rlt_ros.sim.engine import mujoco

DARK = (0.03, 0.03, 0.04, 1.0)
RIM = (0.95, 0.55, 0.08, 1.0)
SOLID = {"contype": 1, "conaffinity": 1, "condim": 3, "mass": 0.1}
VISUAL = {"contype": 0, "conaffinity": 0, "mass": 0}


class Shape(Protocol):
    """Cross-section of a peg, and of its hole. Lengths in m; axes x and y of the tool, and of the board.

    turns: whether the peg must be turned with the hole. grip: width of the peg between the fingers, which close along
    y. opening: half sides of the rectangle that the board's plates leave open, which `line` makes the hole. rim: how
    far the coloured rim reaches from the middle of the hole along x.
    """

    turns: bool
    grip: float
    opening: tuple[float, float]
    rim: float

    def outline(self, inset: float) -> np.ndarray:
        """Corners float64 (n, 2) of the peg, moved inwards by `inset`; always as many."""

    def takes(self, x: float, y: float) -> bool:
        """Whether a point of the board's plane lies inside the hole."""

    def line(self, board: mujoco.MjsBody, half: float) -> None:
        """Add walls, rim and floor of the hole to a board. half: half the board's height; its surface is at z = 0."""

"""Round and rectangular pegs are drawn, judged and gripped by what their own shape says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.sim.config import PegConfig
from rlt_ros.sim.shapes.choice import SHAPES, shape_of

PEG = PegConfig(clearance=0.0008)
PEGS = [replace(PEG, shape=name) for name in SHAPES]


@pytest.mark.parametrize("peg", PEGS, ids=SHAPES)
def test_the_hole_takes_the_peg_and_no_further_than_its_clearance(peg: PegConfig) -> None:
    shape, corners = shape_of(peg), shape_of(peg).outline(0.0)
    for corner in corners:
        outwards = np.sign(np.round(corner, 6)) if shape.turns else corner / np.linalg.norm(corner)
        assert shape.takes(*(corner + 0.99 * peg.clearance * outwards))
        assert not shape.takes(*(corner + 1.01 * peg.clearance * outwards))
    assert (np.abs(corners).max(axis=0) + peg.clearance < shape.opening).all()


@pytest.mark.parametrize("peg", PEGS, ids=SHAPES)
def test_the_outline_shrinks_by_the_chamfer_on_every_side(peg: PegConfig) -> None:
    whole, tip = shape_of(peg).outline(0.0), shape_of(peg).outline(peg.chamfer)
    assert whole.shape == tip.shape
    np.testing.assert_allclose(np.ptp(whole, axis=0) - np.ptp(tip, axis=0), 2 * peg.chamfer)


def test_fingers_close_upon_the_narrow_side() -> None:
    round_, rectangular = (shape_of(peg) for peg in PEGS)
    assert round_.grip == pytest.approx(0.016) and rectangular.grip == pytest.approx(0.008)
    assert not round_.turns and rectangular.turns

"""A fixed grid of start states."""

from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.episode import draw
from rlt_ros.sim.grid import Grid

CONFIG, UPRIGHT = SimConfig(), load_robot("").reference
MIDDLE = np.array(CONFIG.board.position)


def test_each_new_seed_gets_the_next_point_and_keeps_it():
    grid = Grid.of("3x2")
    seeds = [70, 9, 800, 4, 5, 61]
    holes = [grid(CONFIG, UPRIGHT, seed).hole.position[:2] for seed in seeds]
    offsets = np.round((np.array(holes) - MIDDLE) / CONFIG.random.hole, 6)
    assert offsets.tolist() == [[-1, -1], [0, -1], [1, -1], [-1, 1], [0, 1], [1, 1]]
    again = [grid(CONFIG, UPRIGHT, seed).hole.position[:2] for seed in reversed(seeds)]
    np.testing.assert_array_equal(again, holes[::-1])
    np.testing.assert_array_equal(grid(CONFIG, UPRIGHT, 7).hole.position[:2], holes[0])  # it begins again


def test_the_episodes_do_not_depend_on_the_seeds():
    one, other = Grid(2, 2), Grid(2, 2)
    for seed in range(4):
        a, b = one(CONFIG, UPRIGHT, seed), other(CONFIG, UPRIGHT, 1000 - seed)
        assert a.seed == b.seed and a.friction == b.friction
        np.testing.assert_array_equal(a.start.position, b.start.position)
        np.testing.assert_array_equal(a.hole.quaternion, b.hole.quaternion)


def test_the_start_lies_about_the_hole_as_in_any_episode():
    moved, drawn = Grid(5, 5)(CONFIG, UPRIGHT, 3), draw(CONFIG, UPRIGHT, 0)
    np.testing.assert_allclose(moved.start.position - moved.hole.position, drawn.start.position - drawn.hole.position)


@pytest.mark.parametrize("text", ["6", "6x", "x5", "1x9", "6x5x4", "-6x5"])
def test_what_is_no_grid_is_refused(text):
    with pytest.raises(ValueError, match="grid is"):
        Grid.of(text)

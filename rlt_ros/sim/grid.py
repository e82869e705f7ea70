"""Start states that are the same for every policy and every seed: the hole on the points of a grid."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.episode import Episode, draw


@dataclass
class Grid:
    """Draws episodes in the place of `episode.draw`.

    The first seed that is asked for gets the first point of the grid, the next new one the next, and each seed the same
    point for good; after the last point it begins again. Points lie evenly over the range of the hole, its edges
    included. All else of an episode follows from the number of its point. columns, rows: along x and along y.
    """

    columns: int
    rows: int
    _points: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if min(self.columns, self.rows) < 2:
            raise ValueError(f"grid is {self.columns}x{self.rows}; expected two points or more along both sides")

    @staticmethod
    def of(text: str) -> Grid:
        """From words such as 6x5. Raises ValueError."""
        found = re.fullmatch(r"(\d+)x(\d+)", text)
        if not found:
            raise ValueError(f"grid is {text!r}; expected COLUMNSxROWS, such as 6x5")
        return Grid(int(found[1]), int(found[2]))

    @property
    def size(self) -> int:
        """Number of points."""
        return self.columns * self.rows

    def __call__(self, config: SimConfig, upright: Pose, seed: int) -> Episode:
        """The episode of a seed; see `episode.draw`."""
        point = self._points.setdefault(seed, len(self._points) % self.size)
        episode = draw(config, upright, point)
        wanted = np.array([*config.board.position, config.board.height]) + config.random.hole * self._offset(point)
        shift = wanted - episode.hole.position
        return replace(episode, hole=_moved(episode.hole, shift), start=_moved(episode.start, shift))

    def _offset(self, point: int) -> np.ndarray:
        # (3,), from -1 to 1.
        x = np.linspace(-1.0, 1.0, self.columns)[point % self.columns]
        y = np.linspace(-1.0, 1.0, self.rows)[point // self.columns]
        return np.array([x, y, 0.0])


def _moved(pose: Pose, shift: np.ndarray) -> Pose:
    return Pose.of(pose.position + shift, pose.quaternion)

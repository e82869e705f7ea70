"""What differs between episodes, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig

_MARK_STREAM = 3
"""`sim.peg` has the streams of the sensors' noise."""


@dataclass(frozen=True)
class Episode:
    """One draw. hole: middle of the hole on the board's surface, z up. start: tool centre point at the start.

    friction: sliding coefficient. light: factor on the lamps. mark: direction from the hole to the pad, rad about z.
    """

    seed: int
    hole: Pose
    start: Pose
    friction: float
    light: float
    mark: float


def draw(config: SimConfig, upright: Pose, seed: int) -> Episode:
    """The episode of a seed; the same seed always gives the same one. upright: orientation of the tool without tilt."""
    rng, r = np.random.default_rng(seed), config.random
    board = np.array([*config.board.position, config.board.height])
    hole = board + [*rng.uniform(-r.hole, r.hole, 2), 0.0]
    yaw = rng.uniform(-r.yaw, r.yaw)
    tip = hole + [*rng.uniform(-r.start_lateral, r.start_lateral, 2), rng.uniform(*r.start_height)]
    tilt = Rotation.from_rotvec([*rng.uniform(-r.tilt, r.tilt, 2), 0.0]) * upright.rotation
    return Episode(
        seed=seed,
        hole=Pose.of(hole, Rotation.from_rotvec([0.0, 0.0, yaw]).as_quat()),
        start=Pose.of(tip - tilt.apply([0.0, 0.0, config.peg.tip_offset]), tilt.as_quat()),
        friction=float(rng.uniform(*r.friction)),
        light=float(rng.uniform(*r.light)),
        # From its own stream: a board with a mark gets the same episodes as one without.
        mark=float(np.random.default_rng((seed, _MARK_STREAM)).uniform(*r.mark)),
    )

"""Proprioception out of a dataset's columns."""

from __future__ import annotations

import numpy as np

from rlt_ros.data.lerobot.columns import Element
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features
from rlt_ros.data.lerobot.mapping import QUATERNION, ROTATION, StateMapping
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.types import PROPRIO_NAMES

POSITION = ("x", "y", "z")
SLACK = 0.1
"""Share of the gripper's opening by which a measured width may lie outside."""


class StateReader:
    """Raises DatasetError naming both where the mapping, the dataset and the robot config do not fit together."""

    def __init__(self, mapping: StateMapping, robot: RobotConfig, features: Features) -> None:
        self._mapping, self._robot = mapping, robot
        self._elements = {name: Element(path, features) for name, path in mapping.elements.items()}
        ours = (*robot.reference_pose.position, *robot.reference_pose.quaternion)
        if mapping.pose == "reference" and not np.allclose(mapping.reference, ours, rtol=0.0, atol=1e-9):
            raise DatasetError(f"reference pose: {mapping.reference} in the dataset, {ours} in the robot config")

    def proprio(self, episode: Episode) -> np.ndarray:
        """float32 (T, 19), SI units, `PROPRIO_NAMES`."""
        values = {name: self._value(name, episode) for name in self._elements}
        values |= {name: np.zeros(len(episode)) for name in self._mapping.absent}
        if self._mapping.pose == "base":
            values |= self._relative(values)
        self._check_width(values["gripper_width"], episode)
        return np.stack([values[name] for name in PROPRIO_NAMES], axis=1).astype(np.float32)

    def poses(self, proprio: np.ndarray) -> list[Pose]:
        """Measured poses in the base frame of proprioception (T, 19). Raises DatasetError where they are absent."""
        gone = [name for name in (*POSITION, *ROTATION) if name in self._mapping.absent]
        if gone:
            raise DatasetError(f"state: {gone} absent, but the actions start from the measured pose")
        columns = [PROPRIO_NAMES.index(name) for name in (*POSITION, *ROTATION)]
        return [self._robot.reference.moved(row[:3], row[3:]) for row in proprio[:, columns].astype(np.float64)]

    def _value(self, name: str, episode: Episode) -> np.ndarray:
        return self._elements[name].of(episode) * float(self._mapping.scale.get(name, 1.0))

    def _relative(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Position and rotation in the base frame to those relative to the reference pose."""
        poses = poses_of(_columns(values, POSITION), _columns(values, QUATERNION if "qw" in values else ROTATION))
        moves = [np.concatenate(self._robot.reference.to(pose)) for pose in poses]
        return dict(zip((*POSITION, *ROTATION), np.stack(moves, axis=1)))

    def _check_width(self, width: np.ndarray, episode: Episode) -> None:
        if "gripper_width" in self._mapping.absent:
            return
        gripper = self._robot.gripper
        slack = SLACK * (gripper.open_width - gripper.closed_width)
        if width.min() < gripper.closed_width - slack or width.max() > gripper.open_width + slack:
            raise DatasetError(
                f"episode {episode.index}: gripper_width {width.min():.4g} to {width.max():.4g} m in the dataset, "
                f"{gripper.closed_width} to {gripper.open_width} m in the robot config; another unit?"
            )


def poses_of(positions: np.ndarray, rotations: np.ndarray) -> list[Pose]:
    """Poses of positions (T, 3), m, and rotations: vectors (T, 3), rad, or quaternions (T, 4), x y z w."""
    if rotations.shape[1] == 4:
        return [Pose.of(p, q) for p, q in zip(positions, rotations)]
    origin = Pose.of((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    return [origin.moved(p, r) for p, r in zip(positions, rotations)]


def _columns(values: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([values[name] for name in names], axis=1)

"""Demonstrations for Stage 1 out of a LeRobot dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.images import square
from rlt_ros.data.lerobot.actions import ActionReader
from rlt_ros.data.lerobot.decoder import TOLERANCE
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import cameras, picture_shape
from rlt_ros.data.lerobot.mapping import DatasetMapping, own_mapping
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.state import StateReader
from rlt_ros.robot.config import RobotConfig


def load(
    root: Path | str,
    mapping: DatasetMapping | None,
    robot: RobotConfig,
    size: int,
    skipped: Callable[[str], None] | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Demonstration]:
    """Episodes of a dataset, one in memory at a time, pictures cut and scaled to (size, size).

    mapping: None for a dataset that this package wrote. skipped: takes the reason why an episode was left out; without
    it the first unusable episode is an error. tolerance: s, of timestamps. What the whole dataset gets wrong (its
    frame rate, scales, names, cameras, picture size, gripper) raises DatasetError, with both values, before the first
    episode.
    """
    source = DemonstrationSource(root, mapping, robot)
    return source.demonstrations(size, skipped, tolerance)


class DemonstrationSource:
    """A dataset read through a mapping, checked against the robot config when it is made."""

    def __init__(self, root: Path | str, mapping: DatasetMapping | None, robot: RobotConfig) -> None:
        self.reader = DatasetReader(root)
        features = self.reader.features
        self.mapping = mapping or own_mapping(features, str(root))
        if self.reader.fps != robot.control_rate:
            rate = robot.control_rate
            raise DatasetError(f"fps: {self.reader.fps} in {root}, control_rate {rate} Hz in the robot config")
        self._check_cameras(robot)
        for column in (self.mapping.success, self.mapping.offset):
            if column and column not in features:
                raise DatasetError(f"{root}: no column {column!r}; there are {sorted(features)}")
        self._state = StateReader(self.mapping.state, robot, features)
        self._actions = ActionReader(self.mapping.action, self.mapping.gripper, robot, features)
        if len(self.reader):
            self._actions.check_gripper(np.concatenate([self._actions.gripper(episode) for episode in self.reader]))

    def demonstrations(
        self, size: int, skipped: Callable[[str], None] | None = None, tolerance: float = TOLERANCE
    ) -> Iterator[Demonstration]:
        """See `load`."""
        self._check_size(size)
        if skipped is None:
            self.reader.check_videos()
        for index in range(len(self.reader)):
            try:
                yield self._demonstration(self.reader.episode(index), size, tolerance)
            except ValueError as error:
                if skipped is None:
                    raise
                skipped(f"episode {index}: {error}")

    def vectors(self, episode: Episode) -> tuple[np.ndarray, np.ndarray]:
        """Proprioception float32 (T, 19), SI units, and actions float32 (T, 7) of an episode."""
        proprio = self._state.proprio(episode)
        return proprio, self._actions.actions(episode, lambda: self._state.poses(proprio))

    def _check_cameras(self, robot: RobotConfig) -> None:
        wanted, mapped = sorted(robot.cameras), sorted(self.mapping.cameras)
        if wanted != mapped:
            raise DatasetError(f"cameras: {mapped} in the mapping, {wanted} in the robot config")
        there = cameras(self.reader.features)
        for name, key in self.mapping.cameras.items():
            if key not in there:
                raise DatasetError(f"camera {name}: no pictures {key!r} in the dataset; there are {there}")

    def _check_size(self, size: int) -> None:
        """Pictures that are scaled up are not those that the running robot's cameras give at that size."""
        for name, key in self.mapping.cameras.items():
            height, width, _ = picture_shape(self.reader.features[key])
            if min(height, width) < size:
                found = f"camera {name}: pictures of {width} x {height} in {key}, {size} x {size} wanted"
                raise DatasetError(f"{found}; record larger ones (pictures:=full) or choose a smaller image_size")

    def _demonstration(self, episode: Episode, size: int, tolerance: float) -> Demonstration:
        episode.check_grid(self.reader.fps, tolerance)
        proprio, actions = self.vectors(episode)
        images = {
            name: np.stack([square(picture, size) for picture in episode.pictures(key, tolerance)])
            for name, key in self.mapping.cameras.items()
        }
        success, offset = self.mapping.success, self.mapping.offset
        return Demonstration(
            id=episode.index,
            images=images,
            proprio=proprio,
            actions=actions,
            success=bool(episode.arrays[success].any()) if success else True,
            offset=episode.arrays[offset] if offset else None,
            instruction=_instruction(episode),
        )


def _instruction(episode: Episode) -> str:
    tasks = dict.fromkeys(episode.tasks)
    if len(tasks) != 1:
        raise DatasetError(f"episode {episode.index}: tasks {list(tasks)}; expected the same in every frame")
    return next(iter(tasks))

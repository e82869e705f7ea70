"""What a dataset's columns mean to the robot, as far as its mapping and the robot config agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.signals import Signals
from rlt_ros.data.lerobot.actions import ActionReader
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features, cameras
from rlt_ros.data.lerobot.mapping import ACTION, STATE, DatasetMapping
from rlt_ros.data.lerobot.state import StateReader
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

T = TypeVar("T")


class Meaning:
    """A dataset's columns in our words. `problems`: where mapping, dataset and robot config do not fit together."""

    def __init__(self, mapping: DatasetMapping, robot: RobotConfig, features: Features, fps: float) -> None:
        self.mapping, self.robot = mapping, robot
        self.problems = [*_rate(fps, robot), *_cameras(mapping, robot, features), *_columns(mapping, features)]
        self._state = self._made("mapping-state", lambda: StateReader(mapping.state, robot, features))
        self._actions = self._made(
            "mapping-action", lambda: ActionReader(mapping.action, mapping.gripper, robot, features)
        )
        self._state_columns = tuple(mapping.state.elements.get(name, f"state/{name}") for name in PROPRIO_NAMES)

    @property
    def complete(self) -> bool:
        """Whether state and actions can be read."""
        return self._state is not None and self._actions is not None

    def state(self, episode: Episode) -> Signals:
        """Proprioception (T, 19). Raises DatasetError."""
        return Signals(self._state_columns, PROPRIO_NAMES, self._state.proprio(episode).astype(np.float64))

    def action(self, episode: Episode, state: Signals) -> Signals:
        """Actions (T, 7). Raises DatasetError where the robot config cannot express one or the gripper makes no sense.

        state: of the same episode.
        """
        self._actions.check_gripper(self._actions.gripper(episode))
        values = self._actions.actions(episode, lambda: self.poses(state))
        columns = self.mapping.action.elements
        if len(columns) != len(ACTION_NAMES):
            columns = tuple(f"action/{name}" for name in ACTION_NAMES)
        return Signals(columns, ACTION_NAMES, values.astype(np.float64))

    def poses(self, state: Signals) -> list[Pose]:
        """Measured poses in the base frame. Raises DatasetError where the dataset has none."""
        return self._state.poses(state.values)

    def success(self, episode: Episode) -> bool:
        """Whether the episode ended well; without such a column all did."""
        column = self.mapping.success
        return bool(episode.arrays[column].any()) if column in episode.arrays else True

    def _made(self, code: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except DatasetError as error:
            self.problems.append(Finding(ERROR, code, str(error), ""))
            return None


def without_mapping(features: Features) -> Iterator[Finding]:
    """What can be said of a dataset of others to which no mapping was given."""
    found = "no mapping for these columns: units, conventions and camera names are not checked"
    yield Finding(WARNING, "no-mapping", found, "Stage 1 needs one (--mapping)")
    for key in (STATE, ACTION):
        if key not in features:
            yield Finding(WARNING, "no-mapping", f"no column {key!r}", f"there are {sorted(features)}")


def _rate(fps: float, robot: RobotConfig) -> Iterator[Finding]:
    if fps != robot.control_rate:
        yield Finding(
            ERROR, "mapping-rate", f"{fps:g} fps", f"control_rate {robot.control_rate:g} Hz in the robot config"
        )


def _cameras(mapping: DatasetMapping, robot: RobotConfig, features: Features) -> Iterator[Finding]:
    wanted, mapped = sorted(robot.cameras), sorted(mapping.cameras)
    if wanted != mapped:
        yield Finding(ERROR, "mapping-cameras", f"{mapped} in the mapping", f"{wanted} in the robot config")
    there = cameras(features)
    for name, key in mapping.cameras.items():
        if key not in there:
            yield Finding(ERROR, "mapping-cameras", f"camera {name}: no pictures {key!r}", f"there are {there}")


def _columns(mapping: DatasetMapping, features: Features) -> Iterator[Finding]:
    for column in (mapping.success, mapping.offset):
        if column and column not in features:
            yield Finding(ERROR, "mapping-column", f"no column {column!r}", f"there are {sorted(features)}")

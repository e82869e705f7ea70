"""Actions of the action space out of a dataset's columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rlt_ros.data.lerobot.columns import Element, stacked
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features
from rlt_ros.data.lerobot.mapping import ActionMapping, GripperMapping
from rlt_ros.data.lerobot.state import poses_of
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.types import ACTION_NAMES, GRIPPER

ROUNDING = 1e-5
"""How far a value may be beyond its bound for reasons of rounding."""
OVERSHOOT = 0.05
"""Share of the range between closed and open by which a gripper value may lie outside: measured widths do."""


class ActionReader:
    """Raises DatasetError naming both where the mapping, the dataset and the robot config do not fit together."""

    def __init__(self, mapping: ActionMapping, gripper: GripperMapping, robot: RobotConfig, features: Features) -> None:
        self._mapping, self._gripper, self._robot = mapping, gripper, robot
        self._elements = [Element(path, features) for path in mapping.elements]
        if mapping.convention != "pose" and mapping.anchor != robot.anchor:
            raise DatasetError(f"anchor: {mapping.anchor!r} in the dataset, {robot.anchor!r} in the robot config")
        if mapping.convention == "delta":
            for name in ("translation", "rotation"):
                _same_scale(name, getattr(mapping, f"{name}_scale"), getattr(robot.action_scale, name))

    def actions(self, episode: Episode, measured: Callable[[], Sequence[Pose]]) -> np.ndarray:
        """float32 (T, 7), `ACTION_NAMES`. measured: gives the poses of the episode in the base frame, if needed.

        Raises DatasetError, naming episode and step, at an action that the robot config cannot express.
        """
        values = stacked(self._elements, episode)
        if self._mapping.convention == "pose":
            motion = self._deltas(poses_of(values[:, :3], values[:, 3:-1]), measured())
        else:
            motion = values[:, :GRIPPER]
        if self._mapping.convention != "delta":
            scale = self._robot.action_scale
            motion = motion / np.repeat([scale.translation, scale.rotation], 3)
        actions = np.concatenate([motion, self._normalised(values[:, -1:])], axis=1)
        return self._bounded(actions, episode).astype(np.float32)

    def gripper(self, episode: Episode) -> np.ndarray:
        """Gripper of an episode as the dataset has it, float64 (T,)."""
        return self._elements[-1].of(episode)

    def check_gripper(self, values: np.ndarray) -> None:
        """Raise DatasetError where the gripper of all frames cannot be meant as the mapping says (report A09)."""
        meant = self._normalised(values, limit=False)
        found = f"gripper: {values.min():.4g} to {values.max():.4g} in the dataset"
        said = f"open {self._gripper.open}, closed {self._gripper.closed} in the mapping"
        if np.abs(meant).max() > 1.0 + 2.0 * OVERSHOOT:
            raise DatasetError(f"{found}, {said}")
        undecided = np.abs(meant) < self._robot.gripper.hysteresis
        if undecided.all() or (undecided.any() and len(np.unique(values)) <= 2):
            raise DatasetError(f"{found}, {said}: some would neither open nor close it; another sign or unit?")

    def _normalised(self, values: np.ndarray, limit: bool = True) -> np.ndarray:
        """Gripper values to -1 (closed) to +1 (open)."""
        closed, opened = self._gripper.closed, self._gripper.open
        meant = 2.0 * (values - closed) / (opened - closed) - 1.0
        return np.clip(meant, -1.0, 1.0) if limit else meant

    def _deltas(self, targets: Sequence[Pose], measured: Sequence[Pose]) -> np.ndarray:
        """Movements (T, 6), m and rad, that lead to the targets."""
        anchors = measured if self._robot.anchor == "measured" else [measured[0], *targets[:-1]]
        return np.stack([np.concatenate(anchor.to(target)) for anchor, target in zip(anchors, targets)])

    def _bounded(self, actions: np.ndarray, episode: Episode) -> np.ndarray:
        beyond = np.argwhere(~(np.abs(actions) <= 1.0 + ROUNDING))
        if len(beyond) and not self._mapping.clip:
            step, place = beyond[0]
            raise DatasetError(
                f"episode {episode.index}: {ACTION_NAMES[place]} of step {step} is {actions[step, place]:.4g} of the "
                f"action scale in the robot config; expected at most 1"
            )
        return np.clip(actions, -1.0, 1.0)


def _same_scale(name: str, theirs: float, ours: float) -> None:
    if not np.isclose(theirs, ours, rtol=1e-6):
        raise DatasetError(f"{name} scale of an action: {theirs} in the dataset, {ours} in the robot config")

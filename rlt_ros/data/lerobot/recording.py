"""What this package writes: features and frames of a dataset of its own, whoever records it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Feature, Features
from rlt_ros.data.lerobot.mapping import ACTION, IMAGES, OFFSET, STATE, SUCCESS
from rlt_ros.robot.config import RobotConfig
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

OFFSET_FEATURE: Features = {OFFSET: {"dtype": "float32", "shape": [2], "names": ["x", "y"]}}
"""True vector from tip to hole, m: a column for simulated demonstrations only."""


def fps_of(robot: RobotConfig) -> int:
    """Frames per second of a dataset: the control rate. Raises DatasetError unless that is whole."""
    if robot.control_rate != int(robot.control_rate):
        raise DatasetError(f"control_rate is {robot.control_rate} Hz; LeRobot datasets need a whole number")
    return int(robot.control_rate)


def features_for(
    robot: RobotConfig,
    cameras: Mapping[str, tuple[int, int]],
    video: bool = False,
    extra: Mapping[str, Feature] | None = None,
) -> Features:
    """Features for `DatasetWriter`, with what their numbers mean, so that no mapping file is needed to read them.

    cameras: name to height and width of the pictures that will be recorded; the names are the robot config's.
    video: lossy and small instead of exact. extra: further columns, such as raw stamps.
    """
    if sorted(cameras) != sorted(robot.cameras):
        raise DatasetError(f"cameras: {sorted(cameras)} to be recorded, {sorted(robot.cameras)} in the robot config")
    pictures = {IMAGES + name: _camera(sides, video) for name, sides in cameras.items()}
    return {
        STATE: _vector(PROPRIO_NAMES, _state_meaning(robot)),
        ACTION: _vector(ACTION_NAMES, _action_meaning(robot)),
        **pictures,
        SUCCESS: {"dtype": "bool", "shape": [1], "names": None},
        **(extra or {}),
    }


def frame_of(
    images: Mapping[str, np.ndarray],
    proprio: np.ndarray,
    action: np.ndarray,
    extra: Mapping[str, np.ndarray | str] | None = None,
) -> dict[str, np.ndarray | str]:
    """A frame for `DatasetWriter.add_frame`: what was seen, and the action that was then executed.

    images: camera name to uint8 RGB (h, w, 3). proprio: float32 (19,), SI units. action: float32 (7,), in the action
    space, the gripper as it is held. extra: values of the further columns.
    """
    pictures = {IMAGES + name: picture for name, picture in images.items()}
    return {STATE: proprio, ACTION: action, **pictures, SUCCESS: np.array([False]), **(extra or {})}


def frames_of(demonstration: Demonstration) -> Iterator[dict[str, np.ndarray | str]]:
    """The frames of a demonstration in memory; its offset, if it has one, goes to the column of `OFFSET_FEATURE`."""
    for step, action in enumerate(demonstration.actions):
        images = {name: pictures[step] for name, pictures in demonstration.images.items()}
        extra = {} if demonstration.offset is None else {OFFSET: demonstration.offset[step]}
        yield frame_of(images, demonstration.proprio[step], action, extra)


def outcome(success: bool) -> dict[str, np.ndarray]:
    """How the episode ended, for `DatasetWriter.save_episode(last=..)`."""
    return {SUCCESS: np.array([success])}


def _camera(sides: tuple[int, int], video: bool) -> Feature:
    names = ["height", "width", "channels"]
    return {"dtype": "video" if video else "image", "shape": [*sides, 3], "names": names}


def _vector(names: tuple[str, ...], meaning: dict[str, Any]) -> Feature:
    return {"dtype": "float32", "shape": [len(names)], "names": list(names), "info": {"rlt_ros": meaning}}


def _state_meaning(robot: RobotConfig) -> dict[str, Any]:
    pose = robot.reference_pose
    return {"pose": "reference", "reference": [*pose.position, *pose.quaternion]}


def _action_meaning(robot: RobotConfig) -> dict[str, Any]:
    return {
        "convention": "delta",
        "anchor": robot.anchor,
        "translation_scale": robot.action_scale.translation,
        "rotation_scale": robot.action_scale.rotation,
        "gripper": {"open": 1.0, "closed": -1.0},
    }

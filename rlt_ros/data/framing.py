"""One control step of a running or recorded graph as a row of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlt_ros.data.lerobot.features import Features
from rlt_ros.data.lerobot.recording import features_for, frame_of
from rlt_ros.robot.config import RobotConfig
from rlt_ros.types import ExecutedStep, Observation

DRIVER, STAMP = "driver", "stamp"
EXTRA: Features = {
    DRIVER: {"dtype": "uint8", "shape": [1], "names": None},
    STAMP: {"dtype": "int64", "shape": [1], "names": ["nanoseconds"]},
}
"""Columns beyond those of every dataset of ours: who drove (`types.Driver`), and the stamp of the observation."""


def step_features(robot: RobotConfig, images: Mapping[str, np.ndarray], video: bool) -> Features:
    """Features of a dataset of control steps whose pictures, uint8 (h, w, 3), are like these."""
    sides = {name: (int(rgb.shape[0]), int(rgb.shape[1])) for name, rgb in images.items()}
    return features_for(robot, sides, video, EXTRA)


def step_frame(observation: Observation, step: ExecutedStep) -> dict[str, Any]:
    """The row of an observation and the step executed at it.

    The action is the one that left the safety module, clipped to [-1, 1] as in simulated demonstrations: a policy
    cloned from it asks for what the arm really did.
    """
    extra = {DRIVER: np.array([step.driver], np.uint8), STAMP: np.array([observation.stamp], np.int64)}
    return frame_of(observation.images, observation.proprio, np.clip(step.sent, -1.0, 1.0), extra)

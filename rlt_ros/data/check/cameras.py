"""One camera through one episode, picture by picture; what stays in memory is small."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rlt_ros.data.check.limits import Limits
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import cv2

THIN = 96
"""Pictures are thinned to about this many pixels a side before they are compared."""
SIDE = 16
"""Sides of the mean picture by which cameras are told apart."""


@dataclass
class CameraTrace:
    """What is known of a camera's pictures in an episode; the lists have an entry for every picture.

    level, contrast: mean and standard deviation, of 255. same: whether it is the picture before. small: thinned to
    (SIDE, SIDE, 3), as bytes. error: why reading it ended early, or empty.
    """

    key: str
    level: list[float] = field(default_factory=list)
    contrast: list[float] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)
    small: list[bytes] = field(default_factory=list)
    error: str = ""
    _sum: np.ndarray = field(default_factory=lambda: np.zeros((SIDE, SIDE, 3)))

    def __len__(self) -> int:
        return len(self.level)

    @property
    def mean(self) -> np.ndarray:
        """Mean of the pictures, thinned, float64 (SIDE, SIDE, 3)."""
        return self._sum / max(1, len(self))

    def blank(self, limits: Limits) -> np.ndarray:
        """Which pictures show nothing, bool (T,)."""
        level, contrast = np.array(self.level), np.array(self.contrast)
        return (contrast < limits.blank_contrast) | (level < limits.black_level)

    def add(self, rgb: np.ndarray, before: np.ndarray | None, tolerance: float) -> np.ndarray:
        """Take in a picture; returns what the next one is compared with."""
        thin = thinned(rgb)
        self.level.append(float(thin.mean()))
        self.contrast.append(float(thin.std()))
        self.same.append(before is not None and float(cv2.absdiff(thin, before).mean()) <= tolerance)
        mean = cv2.resize(rgb, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        self._sum += mean
        self.small.append(mean.tobytes())
        return thin


def trace(episode: Episode, key: str, limits: Limits) -> CameraTrace:
    """Read a camera's pictures once."""
    result, before = CameraTrace(key), None
    tolerance = limits.same_level if episode.features[key]["dtype"] == "video" else 0.0
    try:
        for rgb in episode.pictures(key):
            before = result.add(rgb, before, tolerance)
    except DatasetError as error:
        result.error = str(error)
    return result


def thinned(rgb: np.ndarray) -> np.ndarray:
    """Every n-th pixel, so that `THIN` remain a side; a copy."""
    step = max(1, max(rgb.shape[:2]) // THIN)
    return np.ascontiguousarray(rgb[::step, ::step])

"""Pictures as PNG: exact, and what LeRobot keeps in image columns."""

from __future__ import annotations

import numpy as np

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import cv2

OPTIONS = [cv2.IMWRITE_PNG_COMPRESSION, 1, cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_RLE]
"""Searching for repeats in a noisy picture costs two fifths of the time and makes it larger: 640 x 480, 50 ms to 30."""


def encode(rgb: np.ndarray) -> bytes:
    """PNG of a picture, uint8 (h, w, 3)."""
    done, data = cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), OPTIONS)
    if not done:
        raise DatasetError(f"picture {rgb.dtype} {rgb.shape} cannot be encoded")
    return data.tobytes()


def decode(data: bytes, where: str) -> np.ndarray:
    """Picture uint8 (h, w, 3) of PNG or JPEG bytes. Raises DatasetError naming where they come from."""
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if bgr is None:
        raise DatasetError(f"{where}: {len(data)} bytes that are no picture")
    return cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)

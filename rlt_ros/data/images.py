"""Camera pictures to policy resolution: one way, for demonstrations and for the running robot alike."""

from __future__ import annotations

import cv2
import numpy as np


def square(rgb: np.ndarray, size: int) -> np.ndarray:
    """Centre square of a picture uint8 (h, w, 3), averaged down to (size, size, 3).

    Raises ValueError if it is not uint8 with three channels.
    """
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8:
        raise ValueError(f"image: {rgb.dtype} {rgb.shape}; expected uint8 (h, w, 3)")
    height, width = rgb.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    crop = rgb[top : top + side, left : left + side]
    return crop if side == size else cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA)


def png(rgb: np.ndarray) -> bytes:
    """PNG of a picture uint8 (h, w, 3)."""
    return cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))[1].tobytes()

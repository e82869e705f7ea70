"""Pictures of the scene: rendering, noise and camera intrinsics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlt_ros.sim.engine import mujoco

NOISE_POOL = 1 << 20
"""Values of noise that are drawn once; a picture takes a random stretch of them, which is cheaper than new ones."""


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera without distortion: focal lengths and principal point in px, size in px."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float


def intrinsics(model: mujoco.MjModel, camera: str, width: int, height: int) -> Intrinsics:
    """Intrinsics of a named camera at a picture size; MuJoCo's pixels are square and fovy spans the height."""
    focal = height / 2 / math.tan(math.radians(float(model.camera(camera).fovy[0])) / 2)
    return Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)


class Photographer:
    """Renders cameras of one model at one size. Use it from one thread: it owns an OpenGL context.

    fine: shadows, smooth edges and round shapes, for people; several times the price of a frame.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int, fine: bool = False) -> None:
        _set_quality(model, width, height, fine)
        self._renderer = mujoco.Renderer(model, height, width)
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = fine
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._options = mujoco.MjvOption()

    def picture(self, data: mujoco.MjData, camera: str) -> np.ndarray:
        """RGB uint8 (h, w, 3) of a named camera, without noise."""
        self._renderer.update_scene(data, camera, self._options)
        return self._renderer.render()

    def close(self) -> None:
        """Free the OpenGL context."""
        self._renderer.close()


def _set_quality(model: mujoco.MjModel, width: int, height: int, fine: bool) -> None:
    """Read once, when the OpenGL context is made. Measured here: 4 ms a frame with multisampling, 1 ms without."""
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    model.vis.quality.offsamples = 8 if fine else 0
    model.vis.quality.numslices, model.vis.quality.numstacks = (48, 24) if fine else (16, 8)


class PixelNoise:
    """Gaussian noise on pictures, the same for the same key. sigma: levels of 255."""

    def __init__(self, sigma: float) -> None:
        pool = np.random.default_rng(0).normal(0.0, sigma, NOISE_POOL)
        self._pool = np.rint(pool).astype(np.int16)

    def apply(self, picture: np.ndarray, key: tuple[int, ...]) -> np.ndarray:
        """The picture uint8 (h, w, 3) with the noise of a key of non-negative integers."""
        start = int(np.random.default_rng(key).integers(NOISE_POOL - picture.size))
        noise = self._pool[start : start + picture.size].reshape(picture.shape)
        return np.clip(picture + noise, 0, 255).astype(np.uint8)

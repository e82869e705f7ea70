"""Small pictures in the place of z_rl, for an agent that learns to see by itself: an ablation of the token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rlt_ros.data.contract import Contract
from rlt_ros.tensor import Tensor, functional, torch
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.vla.contract import VLAOutput

SIDE = 32
"""px, of the pictures that the agent gets."""


class PixelExtractor(FeatureExtractor):
    """Reference chunks from the frozen VLA, pictures (cameras * 3 * SIDE * SIDE) in [-1, 1] instead of z_rl."""

    def _z(self, images: Mapping[str, np.ndarray], out: VLAOutput) -> Tensor:
        return small(images, self._stage1.contract.cameras)


def pixel_shape(contract: Contract) -> tuple[int, int, int]:
    """Channels of all cameras, height and width of what stands in the place of z_rl."""
    return 3 * len(contract.cameras), SIDE, SIDE


def with_pixels(contract: Contract) -> Contract:
    """The contract of an agent that gets pictures: no policy of it will be taken for one that gets z_rl."""
    shape = pixel_shape(contract)
    return replace(contract, token_dim=int(np.prod(shape)), token=f"pixels {shape}")


def small(images: Mapping[str, np.ndarray], cameras: Sequence[str]) -> Tensor:
    """Pictures uint8 (N, h, w, 3) of each camera to float32 (N, cameras * 3 * SIDE * SIDE), channels first."""
    stacked = np.concatenate([images[name] for name in cameras], axis=3)
    pictures = torch.from_numpy(stacked).permute(0, 3, 1, 2).float() / 127.5 - 1.0
    return functional.adaptive_avg_pool2d(pictures, SIDE).flatten(1)

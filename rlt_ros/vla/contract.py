"""One call that every VLA backend answers: images, state, instruction in; token embeddings and a chunk out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from rlt_ros.tensor import Tensor


class TokenKind(IntEnum):
    """What a token of the prefix stands for. The RL token leaves INSTRUCTION out (RLT paper, footnote 1)."""

    IMAGE = 0
    INSTRUCTION = 1
    STATE = 2


@dataclass(frozen=True)
class VLAInput:
    """A batch of N observations with one instruction.

    images: camera name to uint8 RGB (N, h, w, 3). proprio: float32 (N, P), normalised with the checkpoint's statistics.
    """

    images: dict[str, np.ndarray]
    proprio: np.ndarray
    instruction: str

    def check(self, cameras: Sequence[str], image_size: tuple[int, int], proprio_dim: int) -> None:
        """Raise ValueError naming the field and both values where the batch is not what the model was made for."""
        if set(self.images) != set(cameras):
            raise ValueError(f"images: cameras {sorted(self.images)}; the model has {sorted(cameras)}")
        n = len(self.proprio)
        if self.proprio.shape != (n, proprio_dim):
            raise ValueError(f"proprio: shape {self.proprio.shape}; the model has (N, {proprio_dim})")
        if not np.isfinite(self.proprio).all():
            raise ValueError(f"proprio: not finite at {np.argwhere(~np.isfinite(self.proprio))[0].tolist()}")
        for name, image in self.images.items():
            if image.shape != (n, *image_size, 3) or image.dtype != np.uint8:
                raise ValueError(f"images[{name}]: {image.dtype} {image.shape}; expected uint8 {(n, *image_size, 3)}")


@dataclass(frozen=True)
class VLAOutput:
    """What one forward pass gives, on the model's device, float32.

    tokens: (N, M, D), prefix embeddings after the final norm. mask: bool (N, M), False at padding. kinds: one a token.
    reference: (N, H, A), the action chunk in the action space, not clipped.
    """

    tokens: Tensor
    mask: Tensor
    kinds: tuple[TokenKind, ...]
    reference: Tensor


class VLA(Protocol):
    """A frozen vision-language-action model. Equal input and seed give equal output, whatever else is in the batch."""

    @property
    def identity(self) -> str:
        """SHA-256 of configuration and weights."""

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras that it needs."""

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of every image."""

    @property
    def proprio_dim(self) -> int:
        """P, length of the state vector."""

    @property
    def horizon(self) -> int:
        """H, steps of the reference chunk."""

    @property
    def action_dim(self) -> int:
        """A, and not the padded width inside the model (report B13)."""

    @property
    def width(self) -> int:
        """D, width of a token."""

    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Tokens and reference from one pass; seeds: one an observation. Raises ValueError as `VLAInput.check`."""

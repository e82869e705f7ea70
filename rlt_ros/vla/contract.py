"""One call that every VLA backend answers: images, state, instruction in; token embeddings and a chunk out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:  # the vocabulary alone needs no torch
    from rlt_ros.tensor import Tensor, torch


class TokenKind(IntEnum):
    """What a token of the prefix stands for. The RL token leaves INSTRUCTION out (RLT paper, footnote 1)."""

    IMAGE = 0
    INSTRUCTION = 1
    STATE = 2


@dataclass(frozen=True)
class VLAInput:
    """A batch of N observations with one instruction.

    images: camera name to uint8 RGB (N, h, w, 3). proprio: float32 (N, P), normalised with the checkpoint's statistics.
    state: float32 (N, P), the same in its own units, for a backend that normalises by statistics of its own; such a
    backend refuses a batch without it.
    """

    images: dict[str, np.ndarray]
    proprio: np.ndarray
    instruction: str
    state: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.proprio)

    def part(self, rows: slice) -> VLAInput:
        """Some of the observations."""
        images = {name: pictures[rows] for name, pictures in self.images.items()}
        state = None if self.state is None else self.state[rows]
        return VLAInput(images, self.proprio[rows], self.instruction, state)

    def check_seeds(self, seeds: Sequence[int]) -> None:
        """Raise ValueError unless there is one seed of 64 bit for each observation."""
        if len(seeds) != len(self):
            raise ValueError(f"seeds: {len(seeds)} for {len(self)} observations")
        if not all(0 <= seed < 2**64 for seed in seeds):
            raise ValueError(f"seeds: {list(seeds)}; expected 0 to 2**64 - 1")

    def check(self, cameras: Sequence[str], image_size: tuple[int, int], proprio_dim: int) -> None:
        """Raise ValueError naming the field and both values where the batch is not what the model was made for."""
        if set(self.images) != set(cameras):
            raise ValueError(f"images: cameras {sorted(self.images)}; the model has {sorted(cameras)}")
        n = len(self.proprio)
        if self.proprio.shape != (n, proprio_dim):
            raise ValueError(f"proprio: shape {self.proprio.shape}; the model has (N, {proprio_dim})")
        if self.state is not None and self.state.shape != self.proprio.shape:
            raise ValueError(f"state: shape {self.state.shape}; proprio has {self.proprio.shape}")
        for name, values in {"proprio": self.proprio, "state": self.state}.items():
            # Normalising clips infinity to a bound, so either may be finite without the other.
            if values is not None and not np.isfinite(values).all():
                raise ValueError(f"{name}: not finite at {np.argwhere(~np.isfinite(values))[0].tolist()}")
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


@dataclass(frozen=True)
class VLALoss:
    """What one training pass gives.

    vla_loss: scalar, the backend's own objective. tokens: (N, M, D), mask: bool (N, M), kinds: as in `VLAOutput`, from
    the same pass; the RL token detaches them itself.
    """

    vla_loss: Tensor
    tokens: Tensor
    mask: Tensor
    kinds: tuple[TokenKind, ...]


class VLA(Protocol):
    """A frozen vision-language-action model. Equal input and seed give equal output, whatever else is in the batch."""

    @property
    def backend(self) -> str:
        """Its name in `vla.backends`."""

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

    def token_kinds(self, instruction: str) -> tuple[TokenKind, ...]:
        """Kind of each of the M tokens under an instruction. Raises ValueError on one that is too long."""

    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Tokens and reference from one pass; seeds: one an observation.

        Raises ValueError as `VLAInput.check`, VLAUnavailable where there is no answer in time.
        """

    def save(self, folder: Path) -> dict[str, Any]:
        """Write what `vla.backends.load_vla` needs into an existing directory; returns its settings, JSON-ready."""


class TrainableVLA(VLA, Protocol):
    """A VLA that is an `nn.Module` too: training changes those of its parameters that require a gradient."""

    def standardise(self, actions: Tensor) -> None:
        """Take statistics of actions from demonstrated chunks (N, H, A) before the first step of training.

        A backend that brings its own statistics keeps them.
        """

    def loss(self, batch: VLAInput, actions: Tensor, valid: Tensor, generator: torch.Generator) -> VLALoss:
        """Loss and tokens from one pass, with a gradient.

        actions: float32 (N, H, A) in the action space. valid: bool (N, H), False beyond the end of an episode; those
        steps do not count. generator: on the processor, for noise and times. Raises ValueError as `VLAInput.check`.
        """


class VLAUnavailable(RuntimeError):
    """A VLA that should answer does not, such as a server that is gone; asking again later may help."""

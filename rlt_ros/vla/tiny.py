"""Our own small flow-matching VLA: convolution stem, transformer prefix, flow-matching action head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save_file

from rlt_ros.strict import build
from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.vla.blocks import Block, attention_bias, table
from rlt_ros.vla.config import TinyConfig
from rlt_ros.vla.contract import TokenKind, VLAInput, VLALoss, VLAOutput
from rlt_ros.vla.flow import FlowHead, seeded_noise
from rlt_ros.vla.identity import identity
from rlt_ros.vla.weights import load_strictly
from rlt_ros.vla.words import word_rows

WEIGHTS = "vla.safetensors"
FLOW_TIMES = 4
"""Noise levels for each observation of a training batch: they share the prefix, which is the expensive part."""


class TinyVLA(nn.Module):
    """A VLA (`vla.contract`) that trains on a processor in minutes.

    Prefix tokens look only at each other, so they do not depend on the action noise. The flow head reads the very
    tokens that the RL token gets: those after the final norm.
    """

    backend = "tiny"

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.stem = stem(width)
        self.seen = nn.LayerNorm(width)
        self.image_position = table(len(config.cameras), config.tokens_per_camera, width)
        self.words = nn.Embedding(config.word_buckets + 1, width)
        self.word_position = table(config.instruction_slots, width)
        self.state = nn.Sequential(nn.Linear(config.proprio_dim, width), nn.GELU("tanh"), nn.Linear(width, width))
        self.layers = nn.ModuleList(Block(width, config.heads, config.mlp_ratio) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.head = FlowHead(config)

    @property
    def identity(self) -> str:
        """SHA-256 of configuration and weights."""
        return identity(self.config, self)

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras that it needs."""
        return self.config.cameras

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of every image."""
        return self.config.image_size, self.config.image_size

    @property
    def proprio_dim(self) -> int:
        """Length of the state vector."""
        return self.config.proprio_dim

    @property
    def horizon(self) -> int:
        """Steps of the reference chunk."""
        return self.config.horizon

    @property
    def action_dim(self) -> int:
        """Length of an action."""
        return self.config.action_dim

    @property
    def width(self) -> int:
        """Width of a token."""
        return self.config.width

    @property
    def kinds(self) -> tuple[TokenKind, ...]:
        """Kind of every token: the cameras' images in their order, the instruction, the state."""
        images = len(self.config.cameras) * self.config.tokens_per_camera
        words = (TokenKind.INSTRUCTION,) * self.config.instruction_slots
        return (TokenKind.IMAGE,) * images + words + (TokenKind.STATE,)

    def token_kinds(self, instruction: str) -> tuple[TokenKind, ...]:
        """Kinds; an instruction moves none, it only leaves slots empty."""
        self._rows(instruction)
        return self.kinds

    @torch.no_grad()
    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Tokens and reference from one pass; see `vla.contract.VLA.infer`."""
        batch.check(self.cameras, self.image_size, self.proprio_dim)
        batch.check_seeds(seeds)
        tokens, mask = self.embed(batch)
        noise = seeded_noise(seeds, self.horizon, self.action_dim).to(tokens.device)
        return VLAOutput(tokens, mask, self.kinds, self.head.sample(tokens, mask, noise))

    def standardise(self, actions: Tensor) -> None:
        """Statistics of the flow head; see `vla.contract.TrainableVLA.standardise`."""
        self.head.standardise(actions)

    def loss(self, batch: VLAInput, actions: Tensor, valid: Tensor, generator: torch.Generator) -> VLALoss:
        """Flow-matching loss; see `vla.contract.TrainableVLA.loss`."""
        batch.check(self.cameras, self.image_size, self.proprio_dim)
        pixels, proprio = self._inputs(batch)
        return self.loss_of(pixels, proprio, batch.instruction, actions, valid, generator)

    def loss_of(
        self,
        pixels: Tensor,
        proprio: Tensor,
        instruction: str,
        actions: Tensor,
        valid: Tensor,
        generator: torch.Generator,
        times: int = FLOW_TIMES,
    ) -> VLALoss:
        """`loss` of pixels (N, cameras, 3, h, w) in [-1, 1], which may be varied before, and states (N, P)."""
        tokens, mask = self.prefix(pixels, proprio, instruction)
        draws = times * len(pixels)
        noise = torch.randn(draws, *actions.shape[1:], generator=generator).to(tokens.device)
        # Most weight on early times: there the actions have to come from the picture, later the noise gives them away.
        time = torch.rand(draws, generator=generator).square().to(tokens.device)
        actions, valid = actions.to(tokens.device), valid.to(tokens.device)
        return VLALoss(self.head.loss(tokens, mask, actions, valid, noise, time), tokens, mask, self.kinds)

    def embed(self, batch: VLAInput) -> tuple[Tensor, Tensor]:
        """Tokens (N, M, D) of a checked batch and their mask (N, M)."""
        return self.prefix(*self._inputs(batch), batch.instruction)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights; the settings are the configuration."""
        save_file(self.state_dict(), folder / WEIGHTS)
        return asdict(self.config)

    def _inputs(self, batch: VLAInput) -> tuple[Tensor, Tensor]:
        device = self.norm.weight.device
        images = torch.from_numpy(np.stack([batch.images[name] for name in self.cameras], axis=1)).to(device)
        return self.pixels(images), torch.from_numpy(batch.proprio).to(device)

    @staticmethod
    def pixels(images: Tensor) -> Tensor:
        """Images uint8 (N, cameras, h, w, 3) as the stem wants them: float32 (N, cameras, 3, h, w) in [-1, 1]."""
        return images.permute(0, 1, 4, 2, 3).float().div_(127.5).sub_(1.0)

    def prefix(self, pixels: Tensor, proprio: Tensor, instruction: str) -> tuple[Tensor, Tensor]:
        """Tokens and mask of pixels (N, cameras, 3, h, w) in [-1, 1] and states (N, P)."""
        n = len(pixels)
        seen = self.seen(self.stem(pixels.flatten(0, 1)).flatten(2).transpose(1, 2)).unflatten(0, (n, -1))
        words = (self.words(self._rows(instruction)) + self.word_position).expand(n, -1, -1)
        mask = self.mask(instruction, n)
        x = torch.cat([(seen + self.image_position).flatten(1, 2), words, self.state(proprio)[:, None]], dim=1)
        bias = attention_bias(mask)[:, None, None]
        for layer in self.layers:
            x = layer(x, bias)
        return self.norm(x), mask

    def mask(self, instruction: str, n: int) -> Tensor:
        """Mask bool (n, M) of a batch with one instruction: False at the slots that it leaves empty."""
        mask = torch.ones(n, len(self.kinds), dtype=torch.bool, device=self.norm.weight.device)
        mask[:, -1 - self.config.instruction_slots : -1] = self._rows(instruction) > 0
        return mask

    def _rows(self, instruction: str) -> Tensor:
        rows = word_rows(instruction, self.config.instruction_slots, self.config.word_buckets)
        return torch.tensor(rows + [0] * (self.config.instruction_slots - len(rows)), device=self.norm.weight.device)


def load(settings: Mapping[str, Any], folder: Path, where: str, device: str = "cpu") -> TinyVLA:
    """The VLA that `TinyVLA.save` wrote into a directory; where: names the settings in errors."""
    vla = TinyVLA(build(TinyConfig, settings, where))
    load_strictly(vla, folder / WEIGHTS)
    return vla.to(device)


def stem(width: int) -> nn.Sequential:
    """Images (N, 3, h, w) to features (N, width, h / 16, w / 16).

    The first layer cuts patches of 4 pixels: four times cheaper than overlapping kernels, and linear, so that it
    loses no sub-pixel position.
    """
    return nn.Sequential(
        nn.Conv2d(3, 48, kernel_size=4, stride=4),
        nn.GELU("tanh"),
        nn.Conv2d(48, 64, kernel_size=3, stride=2, padding=1),
        nn.GELU("tanh"),
        nn.Conv2d(64, width, kernel_size=3, stride=2, padding=1),
    )

"""Fine-tuning of the tiny VLA by flow matching on demonstrations in memory."""

from __future__ import annotations

import numpy as np

from rlt_ros.data.demos import Frames
from rlt_ros.tensor import Tensor, functional, torch
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.fit import fit
from rlt_ros.vla.contract import VLAInput
from rlt_ros.vla.tiny import TinyVLA


def train_vla(vla: TinyVLA, frames: Frames, proprio: np.ndarray, config: Stage1Config, seed: int) -> dict[str, float]:
    """Train in place; proprio: float32 (N, P), normalised. Returns `vla_loss` of the last steps.

    Pictures are shifted and change in brightness. A shift keeps where the hole is relative to the peg, and that is what
    the network has to look at: with 60 board poses it would rather learn them by heart.
    """
    vla.standardise(torch.from_numpy(frames.targets))
    draw = torch.Generator().manual_seed(seed + 1)
    pictures = torch.from_numpy(np.stack([frames.images[name] for name in vla.cameras], axis=1))
    states, targets = torch.from_numpy(proprio), torch.from_numpy(frames.targets)
    valid = torch.from_numpy(frames.valid)

    def loss_of(rows: Tensor) -> dict[str, Tensor]:
        pixels = vary(vla.pixels(pictures[rows]), config.brightness, draw)
        pixels = shifted(pixels, config.shift, draw)
        chunk, counted = targets[rows], valid[rows]
        loss = vla.loss_of(pixels, states[rows], config.instruction, chunk, counted, draw, config.flow_times)
        return {"vla_loss": loss.vla_loss}

    return fit(vla, config.fit_vla, len(frames), loss_of, "vla", seed)


def vary(pixels: Tensor, brightness: float, generator: torch.Generator) -> Tensor:
    """Pixels (N, cameras, 3, h, w) in [-1, 1], each picture by up to a relative change brighter or darker."""
    factor = 1.0 + brightness * (2.0 * torch.rand(*pixels.shape[:2], 1, 1, 1, generator=generator) - 1.0)
    return (pixels + 1.0) * factor - 1.0


def shifted(pixels: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Pixels (N, cameras, 3, h, w), each picture moved by up to `most` pixels along both axes, its edge repeated."""
    height, width = pixels.shape[-2:]
    padded = functional.pad(pixels.flatten(0, 1), (most,) * 4, mode="replicate")
    corners = torch.randint(0, 2 * most + 1, (len(padded), 2), generator=generator).tolist()
    cut = [picture[:, y : y + height, x : x + width] for picture, (y, x) in zip(padded, corners)]
    return torch.stack(cut).reshape(pixels.shape)


@torch.no_grad()
def embeddings(vla: TinyVLA, frames: Frames, proprio: np.ndarray, instruction: str, batch: int = 64) -> Tensor:
    """Tokens (N, M, D) of all frames by the frozen VLA; there is one instruction, so they share one mask."""
    parts = []
    for start in range(0, len(frames), batch):
        rows = slice(start, start + batch)
        images = {name: pictures[rows] for name, pictures in frames.images.items()}
        parts.append(vla.embed(VLAInput(images, proprio[rows], instruction))[0])
    return torch.cat(parts)

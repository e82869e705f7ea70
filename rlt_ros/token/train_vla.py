"""Fine-tuning of a VLA by its own loss on demonstrations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlt_ros.tensor import Tensor, functional, nn, torch
from rlt_ros.token.config import FitConfig, Stage1Config
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.fit import fit
from rlt_ros.token.objective import Objective
from rlt_ros.token.run import Run
from rlt_ros.vla.contract import TrainableVLA, VLAInput, VLALoss
from rlt_ros.vla.tiny import TinyVLA


class VLAObjective(Objective):
    """`vla_loss`.

    Pictures are shifted and change in brightness while it trains. A shift keeps where the hole is relative to the peg,
    and that is what the network has to look at: with 60 board poses it would rather learn them by heart.
    """

    stage = "vla"

    def __init__(self, vla: TrainableVLA, corpus: Corpus, config: Stage1Config) -> None:
        super().__init__()
        self.vla, self._corpus, self._config = vla, corpus, config
        self.partial = not isinstance(vla, TinyVLA)
        self._targets, self._valid = torch.from_numpy(corpus.frames.targets), torch.from_numpy(corpus.frames.valid)

    def parts(self) -> list[tuple[nn.Module, FitConfig]]:
        """The VLA."""
        return [(self.vla, self._config.fit_vla)]

    def forward(self, rows: Tensor, draw: torch.Generator) -> dict[str, Tensor]:
        """`vla_loss` of frames."""
        return {"vla_loss": self.passed(rows, draw).vla_loss}

    def passed(self, rows: Tensor, draw: torch.Generator) -> VLALoss:
        """Loss and tokens of frames from one pass."""
        rows, config = rows.cpu(), self._config
        batch = self._corpus.batch(rows.numpy(), config.instruction)
        targets, valid = self._targets[rows], self._valid[rows]
        change = Change(config.brightness, config.shift) if self.training else Change(0.0, 0)
        if not isinstance(self.vla, TinyVLA):
            return self.vla.loss(change.of_batch(batch, draw), targets, valid, draw)
        # Its stem takes pixels that are not rounded again.
        device = self.vla.norm.weight.device
        pixels = change.of_pixels(self.vla.pixels(stacked(batch, self.vla.cameras)), draw).to(device)
        states = torch.from_numpy(batch.proprio).to(device)
        return self.vla.loss_of(pixels, states, config.instruction, targets, valid, draw, config.flow_times)


@dataclass(frozen=True)
class Change:
    """Random changes of pictures: brightness by up to a relative change, shifts by up to so many pixels."""

    brightness: float
    shift: int

    def of_pixels(self, pixels: Tensor, draw: torch.Generator) -> Tensor:
        """Pixels (N, cameras, 3, h, w) in [-1, 1]."""
        pixels = vary(pixels, self.brightness, draw) if self.brightness else pixels
        return shifted(pixels, self.shift, draw) if self.shift else pixels

    def of_batch(self, batch: VLAInput, draw: torch.Generator) -> VLAInput:
        """The same of the uint8 pictures of a batch."""
        if not self.brightness and not self.shift:
            return batch
        cameras = tuple(batch.images)
        pixels = self.of_pixels(TinyVLA.pixels(stacked(batch, cameras)), draw)
        back = pixels.add(1.0).mul(127.5).round().clamp(0, 255).to(torch.uint8).permute(0, 1, 3, 4, 2).numpy()
        images = {name: np.ascontiguousarray(back[:, i]) for i, name in enumerate(cameras)}
        return VLAInput(images, batch.proprio, batch.instruction, batch.state)


def train_vla(
    vla: TrainableVLA, corpus: Corpus, config: Stage1Config, seed: int, run: Run | None = None
) -> dict[str, float]:
    """Train in place. Returns `vla_loss` of the last steps, and `val_vla_loss` if there are validation episodes."""
    vla.standardise(torch.from_numpy(corpus.frames.targets))
    objective = VLAObjective(vla, corpus, config)
    return fit(objective, config.fit_vla, corpus.training, seed, run, corpus.validation)


def stacked(batch: VLAInput, cameras: tuple[str, ...]) -> Tensor:
    """Pictures uint8 (N, cameras, h, w, 3)."""
    return torch.from_numpy(np.stack([batch.images[name] for name in cameras], axis=1))


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

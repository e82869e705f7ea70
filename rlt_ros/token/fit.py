"""The optimiser loop that VLA and token share."""

from __future__ import annotations

import math
from collections.abc import Callable

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig
from rlt_ros.token.progress import Progress

LossOf = Callable[[Tensor], dict[str, Tensor]]
"""From the indices (batch,) of frames to named losses; the first one is minimised."""


def fit(model: nn.Module, config: FitConfig, frames: int, loss_of: LossOf, stage: str, seed: int) -> dict[str, float]:
    """Train a model in place; the same seed gives the same weights. Returns the mean of each loss over the last tenth.

    frames: number of frames to draw from, each equally often. Raises ArithmeticError when the loss is not finite.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate_factor(step, config))
    order = _Order(frames, config.batch, torch.Generator().manual_seed(seed))
    progress, last = Progress(stage, config.steps), Mean()
    model.train()
    for step in range(config.steps):
        losses = loss_of(order.next())
        name, minimised = next(iter(losses.items()))
        value = float(minimised.detach())
        if not math.isfinite(value):
            raise ArithmeticError(f"{stage}: {name} is {value} at step {step}")
        optimiser.zero_grad()
        minimised.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimiser.step()
        schedule.step()
        if step >= 0.9 * config.steps:
            last.add({key: float(loss.detach()) for key, loss in losses.items()})
        progress.update(step + 1, f"{name} {value:.4f}")
    model.eval()
    return last.values()


def rate_factor(step: int, config: FitConfig) -> float:
    """Factor on the learning rate: linear warm-up, then half a cosine down to zero."""
    warmup = max(1, round(config.warmup * config.steps))
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, config.steps - warmup)))


class Mean:
    """Running means of named numbers."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._count = 0

    def add(self, values: dict[str, float]) -> None:
        """One more set of numbers; always the same names."""
        self._count += 1
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def values(self) -> dict[str, float]:
        """The means; empty if nothing was added."""
        return {name: total / self._count for name, total in self._sums.items()}


class _Order:
    """Indices of frames in batches: every frame once before any comes again."""

    def __init__(self, frames: int, batch: int, generator: torch.Generator) -> None:
        self._frames, self._batch, self._generator = frames, batch, generator
        self._left = torch.empty(0, dtype=torch.int64)

    def next(self) -> Tensor:
        while len(self._left) < self._batch:
            self._left = torch.cat([self._left, torch.randperm(self._frames, generator=self._generator)])
        chosen, self._left = self._left.split([self._batch, len(self._left) - self._batch])
        return chosen

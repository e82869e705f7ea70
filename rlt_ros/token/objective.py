"""What a training of Stage 1 minimises."""

from __future__ import annotations

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig


class Objective(nn.Module):
    """Models and the frames that they learn from; the training knows neither.

    Called with the indices (n,) of frames and a generator on the processor for noise, it gives named losses, scalars,
    of which the first one is minimised. Equal indices, generator and weights give equal losses.
    """

    stage: str
    """Name in progress lines and of snapshots."""
    partial = False
    """Whether a pass may leave weights without a gradient, such as the language head of a pre-trained VLA."""

    def parts(self) -> list[tuple[nn.Module, FitConfig]]:
        """The models that are trained, each with its rate, decay and largest gradient."""
        raise NotImplementedError

    def forward(self, rows: Tensor, draw: torch.Generator) -> dict[str, Tensor]:
        """See the class."""
        raise NotImplementedError

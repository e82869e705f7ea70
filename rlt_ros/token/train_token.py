"""Training of the RL token on the embeddings of a frozen VLA, and the figures that say whether it can be used."""

from __future__ import annotations

from collections.abc import Iterator

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig
from rlt_ros.token.embeddings import Embeddings
from rlt_ros.token.fit import fit
from rlt_ros.token.model import RLToken
from rlt_ros.token.objective import Objective
from rlt_ros.token.run import Run

MEASURED = 1024
"""Frames, spread evenly, that the channels' mean and deviation are taken from."""


class TokenObjective(Objective):
    """`rlt_loss` (RLT paper, Eq. 2)."""

    stage = "token"

    def __init__(self, token: RLToken, embeddings: Embeddings, config: FitConfig) -> None:
        super().__init__()
        self.token, self._embeddings, self._config = token, embeddings, config

    def parts(self) -> list[tuple[nn.Module, FitConfig]]:
        """The token's encoder and decoder."""
        return [(self.token, self._config)]

    def forward(self, rows: Tensor, draw: torch.Generator) -> dict[str, Tensor]:
        """`rlt_loss` of frames, and the same as a mean over values."""
        device = self.token.e_rl.device
        tokens, mask = (part.to(device) for part in self._embeddings.of(rows.cpu()))
        loss = self.token.loss(tokens, mask, self._embeddings.kinds, draw)
        return {"rlt_loss": loss.rlt_loss, "rlt_loss_per_value": loss.per_value}


def train_token(
    token: RLToken,
    embeddings: Embeddings,
    config: FitConfig,
    seed: int,
    run: Run | None = None,
    training: Tensor | None = None,
    validation: Tensor | None = None,
) -> dict[str, float]:
    """Train in place, then standardise z over all frames.

    training, validation: int64, frames to learn from (None: all) and to look at. Returns the losses of the last steps
    and `reconstruction`.
    """
    measure(token, embeddings)
    rows = torch.arange(len(embeddings)) if training is None else training
    losses = fit(TokenObjective(token, embeddings, config), config, rows, seed, run, validation)
    return losses | finish(token, embeddings)


@torch.no_grad()
def measure(token: RLToken, embeddings: Embeddings) -> None:
    """The statistics of the embeddings' channels, from some of the frames, if the token wants them."""
    if not token.config.normalise:
        return
    some = torch.linspace(0, len(embeddings) - 1, min(MEASURED, len(embeddings))).long()
    tokens, mask = embeddings.of(some)
    token.measure(tokens, mask, embeddings.kinds)


def finish(token: RLToken, embeddings: Embeddings) -> dict[str, float]:
    """Standardise z over all frames, so that the agent gets inputs of one size; returns `reconstruction`."""
    token.cpu().standardise(encode_all(token, embeddings))
    return reconstruction(token, embeddings)


@torch.no_grad()
def encode_all(token: RLToken, embeddings: Embeddings, batch: int = 256) -> Tensor:
    """z (N, Z) of all frames."""
    return torch.cat([token.encode(tokens, mask, embeddings.kinds) for tokens, mask in _parts(embeddings, batch)])


@torch.no_grad()
def reconstruction(token: RLToken, embeddings: Embeddings, batch: int = 256) -> dict[str, float]:
    """Mean squared error, a value, of the reconstruction from z alone and of each position's mean over the frames."""
    mean, count = _position_means(token, embeddings, batch)
    alone, spread = 0.0, 0.0
    for tokens, mask in _parts(embeddings, batch):
        kept, valid = token.select(tokens, mask, embeddings.kinds)
        alone += float(token.alone(tokens, mask, embeddings.kinds).rlt_loss) * len(kept)
        spread += float(torch.where(valid[..., None], mean - kept, 0.0).square().sum(dtype=torch.float64))
    values = count.sum().item() * token.embed_width
    return {"z_alone": alone / values, "position_mean": spread / values}


def _position_means(token: RLToken, embeddings: Embeddings, batch: int) -> tuple[Tensor, Tensor]:
    """Mean token (L, D) of each position and how often it is there (L, 1)."""
    total, count = 0.0, 0.0
    for tokens, mask in _parts(embeddings, batch):
        kept, valid = token.select(tokens, mask, embeddings.kinds)
        total = total + torch.where(valid[..., None], kept, 0.0).sum(dim=0, dtype=torch.float64)
        count = count + valid.sum(dim=0)[:, None]
    return (total / count.clamp_min(1)).float(), count


def _parts(embeddings: Embeddings, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
    for rows in torch.arange(len(embeddings)).split(batch):
        yield embeddings.of(rows)

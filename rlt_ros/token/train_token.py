"""Training of the RL token on the embeddings of a frozen VLA, and the figures that say whether it can be used."""

from __future__ import annotations

from collections.abc import Sequence

from rlt_ros.tensor import Tensor, torch
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.fit import fit
from rlt_ros.token.model import RLToken, masked_error
from rlt_ros.vla.contract import TokenKind


def train_token(
    token: RLToken, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind], config: Stage1Config, seed: int
) -> dict[str, float]:
    """Train in place on tokens (N, M, D) with mask bool (N, M), then standardise z over them.

    Returns the losses of the last steps and `reconstruction`.
    """
    draw = torch.Generator().manual_seed(seed + 1)

    def loss_of(rows: Tensor) -> dict[str, Tensor]:
        loss = token.loss(tokens[rows], mask[rows], kinds, draw)
        return {"rlt_loss": loss.rlt_loss, "rlt_loss_per_value": loss.per_value}

    losses = fit(token, config.fit_token, len(tokens), loss_of, "token", seed)
    token.standardise(encode_all(token, tokens, mask, kinds))
    return losses | reconstruction(token, tokens, mask, kinds)


@torch.no_grad()
def encode_all(token: RLToken, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind], batch: int = 256) -> Tensor:
    """z (N, Z) of all frames."""
    rows = range(0, len(tokens), batch)
    return torch.cat([token.encode(tokens[i : i + batch], mask[i : i + batch], kinds) for i in rows])


@torch.no_grad()
def reconstruction(
    token: RLToken, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind], batch: int = 256
) -> dict[str, float]:
    """Mean squared error, a value, of the reconstruction from z alone and of each position's mean over the frames."""
    kept, valid = token.select(tokens, mask, kinds)
    count = valid.sum(dim=0).clamp_min(1)[:, None]
    mean = torch.where(valid[..., None], kept, 0.0).sum(dim=0) / count
    parts = [
        float(token.alone(tokens[i : i + batch], mask[i : i + batch], kinds).per_value) * len(tokens[i : i + batch])
        for i in range(0, len(tokens), batch)
    ]
    return {
        "z_alone": sum(parts) / len(tokens),
        "position_mean": float(masked_error(mean.expand_as(kept), kept, valid).per_value),
    }

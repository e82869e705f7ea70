"""LeRobot's observations: what the token encoder and the actor read of them.

    observation.vla_embeddings     (B, M, D) final-layer tokens of the VLA
    observation.vla_mask           (B, M), true where a token is valid; without it all are
    observation.vla_kinds          (M,) or (B, M) numbers of `TokenKind`; without them the configuration's
    observation.rlt_state          (B, Z) instead of the three: z_rl, computed when the row was stored
    observation.state              (B, P) normalised proprioception
    observation.reference_action   (B, H, A) or flat, H >= C, in [-1, 1]: the VLA's chunk, when acting

The dimension B is the row, and whatever else an observation holds is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.fields import BatchError, chunks, expect, misshapen, take
from rlt_ros.tensor import Tensor, torch
from rlt_ros.vla.contract import TokenKind

EMBEDDINGS, MASK, KINDS = "observation.vla_embeddings", "observation.vla_mask", "observation.vla_kinds"
Z, PROPRIO, REFERENCE = "observation.rlt_state", "observation.state", "observation.reference_action"


@dataclass(frozen=True)
class Prefix:
    """Tokens of the VLA: (B, M, D), mask bool (B, M), kinds of the M."""

    tokens: Tensor
    mask: Tensor
    kinds: tuple[TokenKind, ...]


def prefix(observation: Mapping[str, Any], config: RLTConfig) -> Prefix:
    """What the token encoder reads. Raises BatchError."""
    device = config.agent.device
    tokens = take(observation, EMBEDDINGS, device)
    if tokens.ndim != 3 or tokens.shape[2] != config.embed_width:
        raise misshapen(EMBEDDINGS, tokens, f"(B, M, {config.embed_width})")
    rows, length = tokens.shape[:2]
    mask = torch.ones(rows, length, dtype=torch.bool, device=device)
    if MASK in observation:
        mask = expect(MASK, take(observation, MASK, device) > 0.5, (rows, length))
    return Prefix(tokens, mask, _kinds(observation, config, length))


def stored_z(observation: Mapping[str, Any], config: RLTConfig) -> Tensor | None:
    """The z_rl (B, Z) that the row was stored with, None without one. Raises BatchError."""
    if Z not in observation:
        return None
    z = take(observation, Z, config.agent.device)
    return expect(Z, z, (len(z), config.token.dim))


def proprio(observation: Mapping[str, Any], config: RLTConfig, rows: int) -> Tensor:
    """Normalised proprioception (B, P); nothing is asked for where P is 0. Raises BatchError."""
    if config.proprio == 0:
        return torch.zeros(rows, 0, device=config.agent.device)
    return expect(PROPRIO, take(observation, PROPRIO, config.agent.device), (rows, config.proprio))


def reference(holder: Mapping[str, Any], key: str, config: RLTConfig) -> Tensor:
    """The first C steps of a reference chunk, (B, C, A). Raises BatchError."""
    chunk = chunks(holder, key, config.action, config.agent.device)
    if chunk.shape[1] < config.agent.chunk:
        raise misshapen(key, chunk, f"(B, H >= {config.agent.chunk}, {config.action})")
    return chunk[:, : config.agent.chunk]


def _kinds(observation: Mapping[str, Any], config: RLTConfig, length: int) -> tuple[TokenKind, ...]:
    if KINDS not in observation:
        if len(config.kinds) != length:
            raise BatchError(f"{EMBEDDINGS} has {length} tokens without {KINDS}; configured: {len(config.kinds)}")
        return config.token_kinds
    given = torch.atleast_2d(take(observation, KINDS, "cpu"))
    if given.shape[1:] != (length,):
        raise misshapen(KINDS, given, f"({length},)")
    if not (given == given[0]).all():
        raise BatchError(f"{KINDS} differ between rows; expected the same in all")
    return tuple(TokenKind(int(kind)) for kind in given[0].tolist())

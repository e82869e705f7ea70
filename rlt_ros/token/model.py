"""The RL token: a VLA's token embeddings squeezed into one vector z_rl (RLT paper, Eqs. 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rlt_ros.tensor import Tensor, functional, nn, torch
from rlt_ros.token.config import TokenConfig
from rlt_ros.vla.blocks import Block, attention_bias, table
from rlt_ros.vla.contract import TokenKind


@dataclass(frozen=True)
class TokenLoss:
    """rlt_loss: squared error summed over valid tokens, a mean over the batch (Eq. 2). per_value: mean over values."""

    rlt_loss: Tensor
    per_value: Tensor


class RLToken(nn.Module):
    """Encoder and decoder.

    Encoder: tokens without the instruction (paper, footnote 1), projected to a small width, a learned e_rl appended
    last; z_rl is the output there. Decoder: causal, sees z_rl and then earlier tokens, targets and context detached.
    Beyond the paper, a linear readout of all places enters e_rl and z_rl, and z_rl reaches every place of the decoder
    directly: four attention heads are slow to fetch 33 places, and training here lasts some hundred steps. It costs
    places x `narrow` x Z weights twice, and a long prefix can do without (`narrow` 0).
    The agent gets z_rl with mean 0 and deviation 1 over the demonstrations (`standardise`).
    """

    def __init__(self, config: TokenConfig, embed_width: int, kinds: Sequence[TokenKind]) -> None:
        """embed_width: D of the VLA. kinds: of the VLA's tokens; a longer prefix is refused, now and later."""
        super().__init__()
        self.config = config
        self.embed_width = embed_width
        found = len(kept(tuple(kinds), config.image_only))
        self.length = config.prefix_length or found
        if found > self.length:
            raise ValueError(f"prefix of {found} tokens; prefix_length is {self.length}")
        width, length = config.width, self.length
        self.reduce = nn.Linear(embed_width, width)
        self.position = table(length, width)
        self.e_rl = table(width)
        if config.narrow:
            self.narrow = nn.Linear(width, config.narrow)
            self.gather = nn.Linear(length * config.narrow, width)
        self.encoder = nn.ModuleList(Block(width, config.heads, config.mlp_ratio) for _ in range(config.layers))
        self.squeeze = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, config.dim))
        if config.narrow:
            self.direct = nn.Linear(length * config.narrow, config.dim)
        self.widen = nn.Linear(config.dim, width)
        if config.narrow:
            self.spread = nn.Sequential(
                nn.Linear(config.dim, length * config.narrow),
                nn.Unflatten(-1, (length, config.narrow)),
                nn.Linear(config.narrow, width),
            )
        self.context = nn.Linear(embed_width, width)
        self.no_context = table(width)
        self.target_position = table(length, width)
        self.decoder = nn.ModuleList(Block(width, config.heads, config.mlp_ratio) for _ in range(config.layers))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, embed_width))
        self.register_buffer("shift", torch.zeros(config.dim))
        self.register_buffer("scale", torch.ones(config.dim))
        if config.normalise:
            self.register_buffer("token_mean", torch.zeros(embed_width))
            self.register_buffer("token_std", torch.ones(embed_width))

    def encode(self, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind]) -> Tensor:
        """z_rl (N, Z) of tokens (N, M, D), mask bool (N, M), kinds (M,). What stands at masked places has no effect."""
        return self._encode(*self.select(tokens, mask, kinds))

    def decode(self, z: Tensor, context: Tensor, seen: Tensor) -> Tensor:
        """Tokens (N, L, D) from z (N, Z) and the true tokens (N, L, D), of which position i sees those before i.

        seen: bool (N, L), False where a context token is replaced by a learned blank; all False decodes from z alone.
        """
        earlier = torch.where(seen[..., None], self.context(context.detach()), self.no_context)[:, :-1]
        z = z * self.scale + self.shift
        x = torch.cat([self.widen(z)[:, None], earlier], dim=1)
        length = x.shape[1]
        x = x + self.target_position[:length]
        if self.config.narrow:
            x = x + self.spread(z)[:, :length]
        causal = attention_bias(torch.ones(length, length, dtype=torch.bool, device=x.device).tril())
        for block in self.decoder:
            x = block(x, causal)
        return self.head(x)

    def loss(self, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind], generator: torch.Generator) -> TokenLoss:
        """Reconstruction loss; the generator (CPU) draws which samples keep their context."""
        tokens, mask = self.select(tokens.detach(), mask, kinds)
        keep = torch.rand(len(tokens), 1, generator=generator) >= self.config.context_dropout
        predicted = self.decode(self._encode(tokens, mask), tokens, mask & keep.to(mask.device))
        return masked_error(predicted, tokens, mask)

    def alone(self, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind]) -> TokenLoss:
        """Error of the reconstruction from z_rl alone: with context it may be ignored (report B18)."""
        tokens, mask = self.select(tokens, mask, kinds)
        predicted = self.decode(self._encode(tokens, mask), tokens, torch.zeros_like(mask))
        return masked_error(predicted, tokens, mask)

    @torch.no_grad()
    def standardise(self, z: Tensor) -> None:
        """Make z (N, Z), encoded from the demonstrations, have mean 0 and deviation 1; the decoder undoes it."""
        mean, std = z.mean(dim=0), z.std(dim=0).clamp_min(1e-3)
        self.shift.copy_(self.shift + mean * self.scale)
        self.scale.copy_(self.scale * std)

    @torch.no_grad()
    def measure(self, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind]) -> None:
        """Take each channel's mean and deviation from tokens (N, M, D), if `TokenConfig.normalise` asks for it.

        Some VLAs scale a few channels up; a squared error would see nothing else (method.md C.6 no. 45).
        """
        if self.config.normalise:
            index = kept(tuple(kinds), self.config.image_only)
            valid = tokens[:, index][mask[:, index]]
            self.token_mean.copy_(valid.mean(dim=0))
            self.token_std.copy_(valid.std(dim=0).clamp_min(1e-6))

    def select(self, tokens: Tensor, mask: Tensor, kinds: Sequence[TokenKind]) -> tuple[Tensor, Tensor]:
        """Tokens and mask of what is encoded. Raises ValueError on a longer or wider prefix than expected."""
        index = kept(tuple(kinds), self.config.image_only)
        if len(index) > self.length or tokens.shape[-1] != self.embed_width:
            raise ValueError(
                f"prefix of {len(index)} tokens of width {tokens.shape[-1]}; "
                f"the token encoder takes {self.length} of width {self.embed_width}"
            )
        tokens, mask = tokens[:, index], mask[:, index]
        if self.config.normalise:
            tokens = (tokens - self.token_mean) / self.token_std
        return tokens, mask if self.config.use_mask else torch.ones_like(mask)

    def _encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        x = self.reduce(torch.where(mask[..., None], tokens, 0.0)) + self.position[: tokens.shape[1]]
        places = self._places(x, mask) if self.config.narrow else None
        e_rl = self.e_rl.expand(len(x), -1) if places is None else self.e_rl + self.gather(places)
        x = torch.cat([x, e_rl[:, None]], dim=1)
        bias = attention_bias(torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1))[:, None, None]
        for block in self.encoder:
            x = block(x, bias)
        z = self.squeeze(x[:, -1])
        return ((z if places is None else z + self.direct(places)) - self.shift) / self.scale

    def _places(self, x: Tensor, mask: Tensor) -> Tensor:
        """The linear readout (N, length * narrow), zeros where there is padding or no token."""
        places = torch.where(mask[..., None], self.narrow(x), 0.0)
        return functional.pad(places, (0, 0, 0, self.length - places.shape[1])).flatten(1)


@lru_cache
def kept(kinds: tuple[TokenKind, ...], image_only: bool = False) -> list[int]:
    """Indices of the tokens that the RL token sees: all but the instruction, or images only."""
    left_out = (TokenKind.INSTRUCTION, TokenKind.STATE) if image_only else (TokenKind.INSTRUCTION,)
    return [i for i, kind in enumerate(kinds) if kind not in left_out]


def masked_error(predicted: Tensor, target: Tensor, mask: Tensor) -> TokenLoss:
    """Squared error of predicted against target (N, L, D) over valid tokens, mask bool (N, L)."""
    squared = torch.where(mask[..., None], predicted - target, 0.0).square().sum()
    return TokenLoss(squared / len(target), squared / (mask.sum() * target.shape[-1]).clamp_min(1))

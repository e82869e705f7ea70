"""Transformer parts shared by the tiny VLA and the RL token: pre-norm, GELU, no dropout."""

from __future__ import annotations

from rlt_ros.tensor import Tensor, functional, nn, torch


class MLP(nn.Sequential):
    """Two linear layers with a GELU between them, width to width."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__(nn.Linear(width, ratio * width), nn.GELU("tanh"), nn.Linear(ratio * width, width))


class Block(nn.Module):
    """Self-attention and an MLP, both residual: (N, L, width) to the same shape."""

    def __init__(self, width: int, heads: int, ratio: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), MLP(width, ratio))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """bias: `attention_bias`, broadcastable to (N, heads, L, L)."""
        q, k, v = (split(part, self.heads) for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        x = x + self.out(attend(q, k, v, bias))
        return x + self.mlp(x)


def split(x: Tensor, heads: int) -> Tensor:
    """(N, L, width) to (N, heads, L, width / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attention_bias(allowed: Tensor) -> Tensor:
    """What is added to attention scores: 0 where a query may look, minus infinity elsewhere. allowed: bool, any shape.

    Made once a pass: PyTorch would convert a bool mask again in every layer.
    """
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill_(~allowed, float("-inf"))


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Scaled dot-product attention of split heads, joined again: (N, L, width)."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)


def table(*shape: int) -> nn.Parameter:
    """A learned table (positions, special tokens), initialised as in ViT: normal with deviation 0.02."""
    return nn.Parameter(torch.randn(*shape) * 0.02)

"""The matrix-multiply limit: the multiplications that the naive count needs, and nothing else."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import torch

from rlt_ros.rl.config import AgentConfig, Dims

Product = tuple[int, int, int]
"""(m, k, n): an (m, k) matrix times a (k, n) matrix, m k n multiplications."""


def naive_products(config: AgentConfig, dims: Dims) -> Counter[Product]:
    """Products of `actor_every` critic steps and one actor step, gradients as `backward` computes them.

    Critic step: the actor twice (next chunk, completion), two targets, every critic, gradients of every weight. Actor
    step: actor and critics forward, gradients of all their weights and of every layer's input but the actor's first.
    """
    flat = config.chunk * len(config.policy_dims(dims))
    first, hidden = dims.z + dims.proprio + flat, [config.hidden] * config.layers
    actor, critic = [first, *hidden, flat], [first, *hidden, 1]
    counted: Counter[Product] = Counter()
    for _ in range(config.actor_every):
        _forward(counted, config.batch, actor, 2)
        _forward(counted, config.batch, critic, config.target_critics + config.critics)
        _backward(counted, config.batch, critic, config.critics, towards_input=False)
    _forward(counted, config.batch, actor, 1)
    _forward(counted, config.batch, critic, config.critics)
    _backward(counted, config.batch, critic, config.critics, towards_input=True)
    _backward(counted, config.batch, actor, 1, towards_input=False)
    return counted


def multiplications(products: Counter[Product]) -> int:
    """How many multiply-adds that is."""
    return sum(m * k * n * count for (m, k, n), count in products.items())


class Products:
    """The products with their operands at hand, as often as counted."""

    def __init__(self, products: Counter[Product]) -> None:
        self._work = []
        for (m, k, n), count in products.items():
            self._work += [(torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)) for _ in range(count)]

    def run(self) -> None:
        """Multiply."""
        for a, b, out in self._work:
            torch.mm(a, b, out=out)


def _forward(counted: Counter[Product], batch: int, sizes: list[int], times: int) -> None:
    for i, o in pairwise(sizes):
        counted[batch, i, o] += times


def _backward(counted: Counter[Product], batch: int, sizes: list[int], times: int, towards_input: bool) -> None:
    for layer, (i, o) in enumerate(pairwise(sizes)):
        counted[o, batch, i] += times
        if layer or towards_input:
            counted[batch, o, i] += times

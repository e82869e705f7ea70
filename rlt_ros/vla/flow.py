"""Action head: flow matching from seeded noise to an action chunk, conditioned on prefix tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.vla.blocks import MLP, attend, attention_bias, split, table
from rlt_ros.vla.config import TinyConfig


@dataclass(frozen=True)
class Prefix:
    """What the flow head needs of a prefix, computed once an inference.

    readout: (N, width). kept: keys and values (N, heads, M, width / heads) for each layer. bias: (N, 1, 1, M + action
    tokens), of the attention.
    """

    readout: Tensor
    kept: list[tuple[Tensor, Tensor]]
    bias: Tensor

    def repeat(self, times: int) -> Prefix:
        """The batch several times over."""
        kept = [(key.repeat(times, 1, 1, 1), value.repeat(times, 1, 1, 1)) for key, value in self.kept]
        return Prefix(self.readout.repeat(times, 1), kept, self.bias.repeat(times, 1, 1, 1))


class FlowLayer(nn.Module):
    """Action tokens look at the prefix and at each other in one softmax; the prefix never looks back."""

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.prefix = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), MLP(width, config.mlp_ratio))

    def cache(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of prefix tokens (N, M, width)."""
        k, v = self.prefix(tokens).chunk(2, dim=-1)
        return split(k, self.heads), split(v, self.heads)

    def forward(self, x: Tensor, prefix: tuple[Tensor, Tensor], bias: Tensor) -> Tensor:
        """x: (N, L, width); bias: (N, 1, 1, M + L)."""
        q, k, v = (split(part, self.heads) for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        k, v = torch.cat([prefix[0], k], dim=2), torch.cat([prefix[1], v], dim=2)
        x = x + self.out(attend(q, k, v, bias))
        return x + self.mlp(x)


class FlowHead(nn.Module):
    """Velocity field over action chunks: x_t = (1 - t) noise + t actions, velocity = actions - noise.

    Inside, motion is summed up over the chunk and standardised for each step: where the hand will be instead of how it
    jerks. Raw deltas are mostly the demonstrator's jitter; what the picture says about them would be lost in the loss.
    """

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.config = config
        size = config.steps_per_token * config.action_dim
        self.inward = nn.Linear(size, config.width)
        self.position = table(config.horizon // config.steps_per_token, config.width)
        self.time = MLP(config.width, 1)
        self.narrow = nn.Linear(config.width, config.readout)
        self.readout = nn.Linear(config.tokens * config.readout, config.width)
        self.layers = nn.ModuleList(FlowLayer(config) for _ in range(config.flow_layers))
        self.outward = nn.Sequential(nn.LayerNorm(config.width), nn.Linear(config.width, size))

        self.register_buffer("mean", torch.zeros(config.horizon, config.action_dim))
        self.register_buffer("std", torch.ones(config.horizon, config.action_dim))

    def standardise(self, actions: Tensor) -> None:
        """Take mean and deviation from chunks (N, H, A); a value that never moves gets a small deviation, not none."""
        summed = integrate(actions)
        self.mean.copy_(summed.mean(dim=0))
        self.std.copy_(summed.std(dim=0).clamp_min(0.05))

    def prefix(self, tokens: Tensor, mask: Tensor) -> Prefix:
        """Prepare tokens (N, M, width) with mask bool (N, M); padding has no part in anything.

        The linear readout knows places; attention alone has to learn them first.
        """
        narrow = torch.where(mask[..., None], self.narrow(tokens), 0.0).flatten(1)
        chunk = mask.new_ones(len(mask), self.config.horizon // self.config.steps_per_token)
        bias = attention_bias(torch.cat([mask, chunk], dim=1))[:, None, None]
        return Prefix(self.readout(narrow), [layer.cache(tokens) for layer in self.layers], bias)

    def velocity(self, noisy: Tensor, time: Tensor, moment: Tensor, prefix: Prefix) -> Tensor:
        """Velocity (N, H, A) at noisy (N, H, A), time (N,) or (1,) in [0, 1] and its embedding `moment`."""
        steps = noisy.reshape(len(noisy), -1, self.config.steps_per_token * self.config.action_dim)
        x = self.inward(steps) + self.position + (moment + prefix.readout)[:, None]
        for layer, kept in zip(self.layers, prefix.kept):
            x = layer(x, kept, prefix.bias)
        return self.outward(x).reshape(noisy.shape) + linear_velocity(noisy, time)

    def moments(self, time: Tensor) -> Tensor:
        """Embeddings (N, width) of times (N,)."""
        return self.time(time_features(time, self.config.width))

    def sample(self, tokens: Tensor, mask: Tensor, noise: Tensor) -> Tensor:
        """Actions (N, H, A) by Euler steps from noise of that shape, given tokens (N, M, width) and mask (N, M)."""
        prefix = self.prefix(tokens, mask)
        x, dt = noise, 1.0 / self.config.flow_steps
        times = torch.arange(self.config.flow_steps, device=noise.device) * dt
        for time, moment in zip(times.split(1), self.moments(times).split(1)):
            x = x + dt * self.velocity(x, time, moment, prefix)
        return differentiate(x * self.std + self.mean)

    def loss(self, tokens: Tensor, mask: Tensor, actions: Tensor, valid: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        """Mean squared velocity error over valid steps.

        tokens: (N, M, width), mask: (N, M). actions: (N, H, A), valid: bool (N, H). noise: (K N, H, A), time: (K N,).
        K flow times for each observation share its prefix, which is the expensive part.
        """
        k = len(noise) // len(tokens)
        prefix = self.prefix(tokens, mask).repeat(k)
        actions, valid = ((integrate(actions) - self.mean) / self.std).repeat(k, 1, 1), valid.repeat(k, 1)
        noisy = torch.lerp(noise, actions, time[:, None, None])
        error = self.velocity(noisy, time, self.moments(time), prefix) - (actions - noise)
        return error.square().mean(dim=-1)[valid].mean()


def linear_velocity(noisy: Tensor, time: Tensor) -> Tensor:
    """The best velocity linear in noisy (N, H, A) when actions and noise both have deviation 1.

    The network adds to it: at time 0 it then regresses the actions themselves, and need not copy the noise first.
    """
    return noisy * ((2 * time - 1) / (time.square() + (1 - time).square()))[:, None, None]


def integrate(actions: Tensor) -> Tensor:
    """Chunks (N, H, A) of deltas to sums since the chunk's start; the gripper, last, is a state and stays."""
    return torch.cat([actions[..., :-1].cumsum(dim=1), actions[..., -1:]], dim=-1)


def differentiate(summed: Tensor) -> Tensor:
    """The inverse of `integrate`."""
    motion = summed[..., :-1]
    steps = torch.cat([motion[:, :1], motion[:, 1:] - motion[:, :-1]], dim=1)
    return torch.cat([steps, summed[..., -1:]], dim=-1)


def time_features(time: Tensor, width: int) -> Tensor:
    """Sines and cosines (N, width) of times (N,) in [0, 1], periods from 4 down to 4/1000."""
    rates = torch.exp(torch.linspace(0.0, math.log(1000.0), width // 2, device=time.device)) * (math.pi / 2)
    angles = time[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def seeded_noise(seeds: Sequence[int], horizon: int, action_dim: int) -> Tensor:
    """Standard normal noise (N, H, A), each row from its own generator: it depends on the seed and on nothing else."""
    rows = [torch.randn(horizon, action_dim, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    return torch.stack(rows)

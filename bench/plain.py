"""The update of `rlt_ros.rl` as one would first write it in eager PyTorch: the yardstick of the speed ratios.

The mathematics is that of the defaults of `AgentConfig`, in the same order of random draws, so that equal weights and
equal batches give equal losses (test/bench). What is left out is every trick: critics are separate modules in a list,
gradients are computed by `backward` for whatever asks for one, the optimiser is Adam as it comes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

from rlt_ros.rl.config import AgentConfig, Dims

Batch = Mapping[str, Tensor]
"""Rows by name, float32: shapes as in `rlt_ros.rl.replay.Batch`."""


class PlainActor(nn.Module):
    """State (B, S) and reference (B, C, d) to a chunk (B, C, d)."""

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        super().__init__()
        self.shape = (config.chunk, len(config.policy_dims(dims)))
        flat = self.shape[0] * self.shape[1]
        sizes = [dims.z + dims.proprio + flat, *[config.hidden] * config.layers, flat]
        self.linears = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(sizes))

    def forward(self, state: Tensor, reference: Tensor) -> Tensor:
        """The bounded chunk."""
        h = torch.cat([state, reference.flatten(1)], dim=1)
        for linear in self.linears[:-1]:
            h = torch.relu(linear(h))
        return torch.tanh(self.linears[-1](h)).view(-1, *self.shape)


class PlainCritic(nn.Module):
    """State (B, S) and chunk (B, C, d) to a value (B,)."""

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        super().__init__()
        flat = config.chunk * len(config.policy_dims(dims))
        sizes = [dims.z + dims.proprio + flat, *[config.hidden] * config.layers]
        self.linears = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(sizes))
        self.norms = nn.ModuleList(nn.LayerNorm(o, elementwise_affine=False) for o in sizes[1:])
        self.head = nn.Linear(config.hidden, 1)

    def forward(self, state: Tensor, chunk: Tensor) -> Tensor:
        """The value."""
        h = torch.cat([state, chunk.flatten(1)], dim=1)
        for linear, norm in zip(self.linears, self.norms):
            h = torch.relu(norm(linear(h)))
        return self.head(h).squeeze(1)


class PlainAgent:
    """TD3 with an ensemble of critics (REDQ). freeze: critics ask for no gradient of their own in the actor step."""

    def __init__(self, config: AgentConfig, dims: Dims, freeze: bool = False) -> None:
        self.config, self.freeze = config, freeze
        self.generator = torch.Generator().manual_seed(config.seed)
        self.free = list(config.policy_dims(dims))
        self.actor = PlainActor(config, dims)
        self.critics = nn.ModuleList(PlainCritic(config, dims) for _ in range(config.critics))
        self.ema = copy.deepcopy(self.actor).requires_grad_(False)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=config.learning_rate)
        self.critic_adam = torch.optim.Adam(self.critics.parameters(), lr=config.learning_rate)
        self.updates = 0

    def update(self, batch: Batch) -> tuple[float, float | None]:
        """One critic step and, every `actor_every` calls, one actor step; their losses."""
        critic_loss = self._update_critics(batch)
        self.updates += 1
        if self.updates % self.config.actor_every:
            return critic_loss, None
        return critic_loss, self._update_actor(batch)

    def _target_values(self, batch: Batch) -> Tensor:
        c = self.config
        chunk = self.actor(batch["next_state"], batch["next_reference"][:, :, self.free])
        noise = (torch.randn(chunk.shape, generator=self.generator) * c.target_noise).clamp(
            -c.target_noise_clip, c.target_noise_clip
        )
        chunk = (chunk + noise).clamp(-1.0, 1.0)
        members = torch.randperm(c.critics, generator=self.generator)[: c.target_critics].tolist()
        bootstrap = torch.stack([self.targets[i](batch["next_state"], chunk) for i in members]).min(dim=0).values
        inside = (batch["rewards"] * batch["valid"] * c.gamma ** torch.arange(c.chunk)).sum(dim=1)
        target = inside + c.gamma ** batch["horizon"] * (1.0 - batch["terminated"]) * bootstrap
        return target.clamp(c.q_low, c.q_high)

    def _update_critics(self, batch: Batch) -> float:
        with torch.no_grad():
            target = self._target_values(batch)
            own = self.actor(batch["state"], batch["reference"][:, :, self.free])
            chunk = torch.where(batch["valid"].unsqueeze(2) > 0, batch["action"][:, :, self.free], own)
        losses = [nn.functional.mse_loss(critic(batch["state"], chunk), target) for critic in self.critics]
        loss = sum(losses)
        self._descend(self.critic_adam, self.critics.parameters(), loss)
        _average(self.targets, self.critics, self.config.tau)
        return loss.item()

    def _update_actor(self, batch: Batch) -> float:
        c = self.config
        reference = batch["reference"][:, :, self.free]
        kept = torch.rand(reference.shape[0], 1, 1, generator=self.generator) >= c.reference_dropout
        chunk = self.actor(batch["state"], reference * kept)
        wanted = torch.where(batch["human"].unsqueeze(2) > 0, batch["action"][:, :, self.free], reference)
        bc = (chunk - wanted).square().sum(dim=(1, 2)).mean()
        self.critics.requires_grad_(not self.freeze)
        q = torch.stack([critic(batch["state"], chunk) for critic in self.critics]).mean()
        loss = c.bc_beta * bc - q
        self._descend(self.actor_adam, self.actor.parameters(), loss)
        self.critics.requires_grad_(True)
        _average(self.ema, self.actor, c.ema)
        return loss.item()

    def _descend(self, adam: torch.optim.Adam, parameters: Iterable[Tensor], loss: Tensor) -> None:
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, self.config.grad_clip)
        adam.step()


class PlainReplay:
    """Rows as float32 tensors, features repeated for every row that names them; batches by indexing."""

    def __init__(self, rows: Batch) -> None:
        self.rows = rows

    def sample(self, batch: int, generator: torch.Generator) -> Batch:
        """So many rows, uniformly with replacement."""
        index = torch.randint(len(self.rows["horizon"]), (batch,), generator=generator)
        return {name: rows[index] for name, rows in self.rows.items()}


@torch.no_grad()
def _average(targets: nn.Module, sources: nn.Module, step: float) -> None:
    for target, source in zip(targets.parameters(), sources.parameters()):
        target.mul_(1.0 - step).add_(source, alpha=step)

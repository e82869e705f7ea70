"""Actor and critics and one update of each. What decides when to update is `learner`; what is updated is here."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlt_ros.rl import losses
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.draws import Draws
from rlt_ros.rl.flat import Optimised, flatten
from rlt_ros.rl.networks import Actor, CriticEnsemble
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

Tensor = torch.Tensor


@dataclass(frozen=True)
class UpdateInfo:
    """Scalars of one update; those of the actor are None where only the critics learned."""

    critic_loss: Tensor
    q_mean: Tensor
    actor_loss: Tensor | None = None
    bc_loss: Tensor | None = None


class Agent:
    """Owns networks, targets, optimisers and its random generator. Not thread-safe: `Learner` takes turns."""

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        self.config, self.dims = config, dims
        self.generator = torch.Generator().manual_seed(config.seed)
        self._draws = Draws(config, self.generator)
        self.actor = self._make_actor().to(config.device)
        self.critic = CriticEnsemble(config, dims, self.generator).to(config.device)
        self.ema = copy.deepcopy(self.actor).requires_grad_(False)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self._trained = {
            name: self._optimised(module) for name, module in (("actor", self.actor), ("critic", self.critic))
        }
        self._ema, self._target = flatten(self.ema), flatten(self.target)
        self.critic_updates = 0
        self.actor_updates = 0
        self.inherited = False
        """Whether it began with an actor that had learned elsewhere."""
        free = config.policy_dims(dims)
        whole = free == tuple(range(free[0], free[-1] + 1))
        self._free = slice(free[0], free[-1] + 1) if whole else list(free)

    @property
    def weights(self) -> tuple[float, float]:
        """Weights of Q and of BC in the next actor update."""
        return self.config.actor_weights(self.actor_updates)

    def policy_part(self, chunk: Tensor) -> Tensor:
        """The dimensions that the policy decides: (B, C, A) to (B, C, d)."""
        return chunk[:, :, self._free]

    def update(self, batch: Batch) -> UpdateInfo:
        """One critic update; on every `actor_every`-th, once the critics have had `actor_after`, one of the actor."""
        info = self._update_critic(batch)
        self.critic_updates += 1
        if self.critic_updates <= self.config.actor_after or self.critic_updates % self.config.actor_every:
            return info
        actor_loss, bc = self._update_actor(batch)
        self.actor_updates += 1
        return UpdateInfo(info.critic_loss, info.q_mean, actor_loss, bc)

    def pretrain(self, batch: Batch) -> Tensor:
        """One actor update on BC alone, before the critics have a say; the averaged actor follows at once."""
        loss, _ = self._bc(batch)
        self._trained["actor"].descend(loss)
        self._ema.copy_(self._trained["actor"].flat)
        return loss.detach()

    @torch.no_grad()
    def target_values(self, batch: Batch) -> Tensor:
        """Regression target of every critic, (B,): Eq. 3 with the current policy on the NEXT reference."""
        c = self.config
        ends = batch.terminated if c.bootstrap_type == "standard" else torch.zeros_like(batch.terminated)
        bootstrap = self._next_values(batch, self._rows(ends == 0.0))
        target = losses.td_target(batch.rewards, batch.valid, batch.horizon, ends, bootstrap, c.gamma)
        return target.clamp_(c.q_low, c.q_high)

    def _next_values(self, batch: Batch, rows: Tensor) -> Tensor:
        # (B,), 0 outside the rows named: what follows an outcome counts for nothing, so the networks are spared it.
        state, reference = batch.next_state.index_select(0, rows), self.policy_part(batch.next_reference)
        chunk = self._run(self.actor, state, reference.index_select(0, rows))
        if self.config.target_noise > 0.0:
            chunk = (chunk + self._draws.smoothing(reference).index_select(0, rows)).clamp_(-1.0, 1.0)
        values = losses.pessimistic(self._run(self.target, state, chunk, self._draws.members()))
        return torch.zeros_like(batch.horizon).index_copy_(0, rows, values)

    def q(self, batch: Batch) -> Tensor:
        """Values of the executed chunks, (K, B); short windows go on with what the policy would have done."""
        return self.q_of(batch, self._completed(batch))

    @torch.no_grad()
    def _completed(self, batch: Batch) -> Tensor:
        # Only the short windows ask the policy: one row in seven where phases last three seconds.
        rows = self._rows(batch.horizon < self.config.chunk)
        executed, reference = self.policy_part(batch.action), self.policy_part(batch.reference)
        own = self._run(self.actor, batch.state.index_select(0, rows), reference.index_select(0, rows))
        short = losses.completed(executed.index_select(0, rows), batch.valid.index_select(0, rows), own)
        return executed.index_copy(0, rows, short)

    def q_of(self, batch: Batch, chunk: Tensor) -> Tensor:
        """Values of other whole chunks (B, C, d) at the same states, (K, B)."""
        return self._run(self.critic, batch.state, chunk)

    def _update_critic(self, batch: Batch) -> UpdateInfo:
        target = self.target_values(batch)
        values = self.q(batch)
        loss = losses.critic_loss(values, target)
        self._trained["critic"].descend(loss)
        self._target.lerp_(self._trained["critic"].flat, self.config.tau)
        return UpdateInfo(loss.detach(), values.detach().mean())

    def _update_actor(self, batch: Batch) -> tuple[Tensor, Tensor]:
        q_weight, bc_beta = self._terms_of_loss()
        bc, chunk = self._bc(batch)
        if self.config.training_noise > 0.0:
            # For Q alone: the distance of Eq. 5 has its expectation at the mean, but for a constant.
            chunk = losses.sampled(chunk, self._draws.training(chunk))
        loss = bc_beta * bc - q_weight * self.q_of(batch, chunk).mean()
        self._trained["actor"].descend(loss)
        self._ema.lerp_(self._trained["actor"].flat, self.config.ema)
        return loss.detach(), bc.detach()

    def _bc(self, batch: Batch) -> tuple[Tensor, Tensor]:
        reference = self.policy_part(batch.reference)
        seen = losses.dropped(reference, self._draws.kept(reference))
        chunk = self._run(self.actor, batch.state, seen)
        return losses.bc_loss(chunk, *self.imitated(batch)), chunk

    def imitated(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """What the actor is drawn to (B, C, d), and which steps count (B, C), None for all."""
        reference, action = self.policy_part(batch.reference), self.policy_part(batch.action)
        if self.config.bc_target == "reference":
            return losses.bc_target(reference, action, batch.human), None
        return action, losses.of_success(batch.human, batch.valid, batch.mc_return)

    def _terms_of_loss(self) -> tuple[float | Tensor, float | Tensor]:
        return self.weights

    def _rows(self, wanted: Tensor) -> Tensor:
        # Numbers of the rows that a network must see; others may be among them.
        return torch.nonzero(wanted).squeeze(1)

    def _run(self, network: torch.nn.Module, *inputs: Any) -> Tensor:
        # Multiplications in the configured precision; between and around the networks all is float32.
        if self.config.precision == "float32":
            return network(*inputs)
        with torch.autocast(torch.device(self.config.device).type, torch.bfloat16):
            return network(*inputs).float()

    def tensors(self) -> dict[str, Tensor]:
        """Everything that an update reads or writes, by name, networks first: not copies."""
        modules = self._modules()
        named = {f"{part}.{name}": t for part, module in modules.items() for name, t in module.state_dict().items()}
        for part, trained in self._trained.items():
            moments = trained.adam.state_dict()["state"].get(0, {})
            named.update({f"adam.{part}.{name}": t for name, t in moments.items()})
        return named | {"generator": self.generator.get_state()}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over tensors as `tensors` gave them, in place. Raises ValueError naming a missing or misshapen one."""
        for part, module in self._modules().items():
            load_strictly(module, _under(tensors, f"{part}."), part)
        for part, trained in self._trained.items():
            moments = _under(tensors, f"adam.{part}.")
            trained.adam.load_state_dict(trained.adam.state_dict() | {"state": {0: moments} if moments else {}})
        self.generator.set_state(tensors["generator"])

    @property
    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Those of `actor` and `critic`: the same objects as long as the agent lives, whatever it loads."""
        return {name: trained.adam for name, trained in self._trained.items()}

    def grad_norm(self, network: str) -> float:
        """Norm of the newest gradient of "actor" or "critic" before clipping; NaN before the first."""
        return self._trained[network].grad_norm

    def _make_actor(self) -> Actor:
        return Actor(self.config, self.dims, self.generator)

    def _optimised(self, module: torch.nn.Module) -> Optimised:
        return Optimised(module, self.config.learning_rate, self.config.grad_clip)

    def _modules(self) -> dict[str, torch.nn.Module]:
        return {"actor": self.actor, "critic": self.critic, "ema": self.ema, "target": self.target}


def load_strictly(module: torch.nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Copy tensors into a module. Raises ValueError unless names and shapes agree exactly, naming both sides."""
    own = module.state_dict()
    if set(own) != set(tensors):
        missing, unknown = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
        raise ValueError(f"{where}: tensors differ: missing {missing}, unknown {unknown}")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise ValueError(f"{where}.{name} has shape {tuple(tensors[name].shape)}; expected {tuple(tensor.shape)}")
        tensor.copy_(tensors[name])


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}

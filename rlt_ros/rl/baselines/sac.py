"""Soft actor-critic (Haarnoja et al., arXiv 1812.05905) on the rows, critics and loop of the method.

With chunks of one step and batches half of which a person drove it is HIL-SERL's learner (arXiv 2410.21845), with the
residual form that of a correction of the frozen VLA (PLD). Windows, bootstrap, clipped targets, random members of the
ensemble, averaged actor, BC term and warm start are the agent's; exploration is the policy's own width.
"""

from __future__ import annotations

import math

from rlt_ros.rl import losses
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.flat import Optimised
from rlt_ros.rl.networks import Actor
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

Tensor = torch.Tensor
nn = torch.nn

TEMPERATURE = 0.01
"""With which training begins: HIL-SERL's, for rewards of 0 and 1 at the end."""
TARGET_ENTROPY = -0.5
"""Of the policy per number of a chunk, in nats: HIL-SERL's."""
LOG_STD = (-5.0, 1.0)
"""Bounds of the logarithm of the policy's width before its tanh."""
FIRST_LOG_STD = -1.5
"""With which it begins, 0.22: a policy as wide as the action space would drive an arm into the table."""


class GaussianActor(Actor):
    """tanh of a Gaussian whose mean and width the network gives. `forward` is its mode, as every user of an actor
    expects; `sample` draws from it."""

    def __init__(self, config: AgentConfig, dims: Dims, generator: torch.Generator) -> None:
        super().__init__(config, dims, generator, outputs=2)
        with torch.no_grad():
            self.biases[-1][self.biases[-1].numel() // 2 :] = FIRST_LOG_STD

    def forward(self, state: Tensor, reference: Tensor) -> Tensor:
        """Chunk (B, C, d) at the mode."""
        mean, _ = self._gaussian(state, reference)
        return self.placed(torch.tanh(mean), reference)

    def sample(self, state: Tensor, reference: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Chunk (B, C, d) and its log-probability (B,). noise: standard normal (B, C, d)."""
        mean, log_std = self._gaussian(state, reference)
        before = mean + log_std.exp() * noise
        normal = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi)
        # log(1 - tanh(x)^2), in the form that does not underflow.
        squashed = 2.0 * (math.log(2.0) - before - nn.functional.softplus(-2.0 * before))
        chunk = self.placed(torch.tanh(before), reference)
        return chunk, (normal - squashed).flatten(1).sum(dim=1)

    def _gaussian(self, state: Tensor, reference: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.raw(state, reference).chunk(2, dim=1)
        return mean.reshape(-1, *self.shape), log_std.reshape(-1, *self.shape).clamp(*LOG_STD)


class Temperature(nn.Module):
    """Weight of the entropy, learned so that the policy keeps `TARGET_ENTROPY`."""

    def __init__(self) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.tensor([math.log(TEMPERATURE)]))

    def forward(self) -> Tensor:
        """The temperature, (1,)."""
        return self.log.exp()


class SACAgent(Agent):
    """`Agent` with a stochastic actor, its entropy in the actor's loss and a learned temperature.

    As in HIL-SERL the entropy is no part of the critics' target: the value stays the probability of success.
    """

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        super().__init__(config, dims)
        self.temperature = Temperature().to(config.device)
        self._trained["temperature"] = Optimised(self.temperature, config.learning_rate, config.grad_clip)

    def _make_actor(self) -> Actor:
        return GaussianActor(self.config, self.dims, self.generator)

    def _next_values(self, batch: Batch, rows: Tensor) -> Tensor:
        state, reference = batch.next_state.index_select(0, rows), self.policy_part(batch.next_reference)
        chunk, _ = self._sampled(state, reference.index_select(0, rows))
        values = losses.pessimistic(self._run(self.target, state, chunk, self._draws.members()))
        return torch.zeros_like(batch.horizon).index_copy_(0, rows, values)

    def _update_actor(self, batch: Batch) -> tuple[Tensor, Tensor]:
        q_weight, bc_beta = self.weights
        bc, _ = self._bc(batch)
        reference = self.policy_part(batch.reference)
        chunk, log_probability = self._sampled(batch.state, losses.dropped(reference, self._draws.kept(reference)))
        entropy = -log_probability.mean()
        value = self.q_of(batch, chunk).mean()
        loss = bc_beta * bc - q_weight * value - self.temperature().detach() * entropy
        self._trained["actor"].descend(loss.squeeze())
        self._ema.lerp_(self._trained["actor"].flat, self.config.ema)
        target = TARGET_ENTROPY * chunk[0].numel()
        self._trained["temperature"].descend((self.temperature() * (entropy.detach() - target)).squeeze())
        return loss.detach().squeeze(), bc.detach()

    def _sampled(self, state: Tensor, reference: Tensor) -> tuple[Tensor, Tensor]:
        noise = losses.gaussian(reference, 1.0, self.generator)
        return self.actor.sample(state, reference, noise)

    def _modules(self) -> dict[str, torch.nn.Module]:
        return super()._modules() | {"temperature": self.temperature}

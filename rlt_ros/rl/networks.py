"""The two small networks: an actor for whole chunks and an ensemble of critics as one batched module.

B rows, K critics, C steps, d dimensions that the policy decides, S = Z + P values of state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.vision import eyes
from rlt_ros.tensor import torch

Tensor = torch.Tensor
nn = torch.nn


class Actor(nn.Module):
    """mu(x, reference) of Eq. 4: an absolute chunk in (-1, 1), not a correction of the reference.

    The residual form, clamp(reference + limit * tanh(net), -1, 1), cannot leave a tube around the reference. Its last
    layer starts at zero: it begins as the reference and needs no pre-training.

    No layer norm over its concatenated input: that would destroy the scale of the reference that it must pass on.
    Without `use_reference` zeros stand in its place, whatever is given.
    """

    def __init__(self, config: AgentConfig, dims: Dims, generator: torch.Generator, outputs: int = 1) -> None:
        """outputs: numbers of the last layer for each number of the chunk."""
        super().__init__()
        self.shape = (config.chunk, len(config.policy_dims(dims)))
        flat = self.shape[0] * self.shape[1]
        self.see, seen = eyes(config, dims, generator)
        sizes = [seen + flat, *[config.hidden] * config.layers, outputs * flat]
        self.weights = nn.ParameterList(_uniform((o, i), i, generator) for i, o in pairwise(sizes))
        self.biases = nn.ParameterList(_uniform((o,), i, generator) for i, o in pairwise(sizes))
        self._blind = not config.use_reference
        self._limit = config.residual_limit if config.actor_form == "residual" else None
        if self._limit is not None:
            nn.init.zeros_(self.weights[-1])
            nn.init.zeros_(self.biases[-1])

    def forward(self, state: Tensor, reference: Tensor) -> Tensor:
        """Chunk (B, C, d) for a state (B, S) and the policy's dimensions of a reference (B, C, d)."""
        return self.placed(torch.tanh_(self.raw(state, reference)).view(-1, *self.shape), reference)

    def raw(self, state: Tensor, reference: Tensor) -> Tensor:
        """What the last layer gives, (B, outputs * C * d)."""
        seen = torch.zeros_like(reference) if self._blind else reference
        h = torch.cat([self.see(state), seen.flatten(1)], dim=1)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = nn.functional.linear(h, weight, bias)
            if i < last:
                h = torch.relu_(h)
        return h

    def placed(self, chunk: Tensor, reference: Tensor) -> Tensor:
        """A chunk in (-1, 1) as it is, or in the residual form as a correction of the reference. All (B, C, d)."""
        return chunk if self._limit is None else _clamped(reference + self._limit * chunk)


class CriticEnsemble(nn.Module):
    """Q(x, a) of K critics with layer norm. The first layer is cut in two, so that the actor step, which needs the
    gradient towards the action only, does not pay for the state.
    """

    def __init__(self, config: AgentConfig, dims: Dims, generator: torch.Generator) -> None:
        super().__init__()
        k, hidden = config.critics, config.hidden
        self.see, state = eyes(config, dims, generator)
        action = config.chunk * len(config.policy_dims(dims))
        fan_in = state + action
        self.state_weight = _uniform((k, state, hidden), fan_in, generator)
        self.action_weight = _uniform((k, action, hidden), fan_in, generator)
        self.first_bias = _uniform((k, 1, hidden), fan_in, generator)
        deeper = range(config.layers - 1)
        self.weights = nn.ParameterList(_uniform((k, hidden, hidden), hidden, generator) for _ in deeper)
        self.biases = nn.ParameterList(_uniform((k, 1, hidden), hidden, generator) for _ in deeper)
        self.head_weight = _uniform((k, 1, hidden), hidden, generator)
        self.head_bias = _uniform((k, 1), hidden, generator)

    def forward(self, state: Tensor, action: Tensor, members: Sequence[int] | Tensor | None = None) -> Tensor:
        """Values (K, B), or (M, B) of the M members named, in rising order. state: (B, S), action: (B, C, d)."""

        def of(parameter: Tensor) -> Tensor:
            return parameter if members is None else _members(parameter, members)

        taken = action.flatten(1)
        bias, state_weight, action_weight = of(self.first_bias), of(self.state_weight), of(self.action_weight)
        k = bias.shape[0]
        h = torch.baddbmm(bias, self.see(state).expand(k, -1, -1), state_weight)
        h = torch.baddbmm(h, taken.expand(k, -1, -1), action_weight)
        h = _normalised(h)
        for weight, bias in zip(self.weights, self.biases):
            h = _normalised(torch.baddbmm(of(bias), h, of(weight)))
        return (h * of(self.head_weight)).sum(dim=2) + of(self.head_bias)


def _clamped(chunk: Tensor) -> Tensor:
    # The gradient passes as if nothing were clamped: a number beyond the bound must find its way back, and how far
    # beyond it can get is bounded already.
    return chunk + (chunk.clamp(-1.0, 1.0) - chunk).detach()


def _members(parameter: Tensor, members: Sequence[int] | Tensor) -> Tensor:
    if isinstance(members, Tensor):
        return parameter.index_select(0, members)
    # Evenly spaced members, two always are, come as a view: copying their weights would cost a tenth of the target.
    gaps = {b - a for a, b in pairwise(members)} or {1}
    if len(gaps) > 1:
        return parameter[list(members)]
    return parameter[members[0] : members[-1] + 1 : gaps.pop()]


def _normalised(h: Tensor) -> Tensor:
    # Without gain and shift: the weights around it do their work, and they cost four passes over the activations.
    return torch.relu_(nn.functional.layer_norm(h, h.shape[-1:]))


def _uniform(shape: Sequence[int], fan_in: int, generator: torch.Generator) -> torch.nn.Parameter:
    bound = fan_in**-0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))

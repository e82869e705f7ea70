"""Stage 1 one step at a time: what `token.train_token` does to stored frames, done to whatever an iterator brings."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rlt_ros.lerobot.observations import Prefix
from rlt_ros.rl.learner import Diverged
from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig
from rlt_ros.token.model import RLToken
from rlt_ros.token.training import rate_factor

STANDARDISING = 2048
"""Newest frames, and no more than a tenth of all, whose z decides its mean and deviation: they came by when the
learning rate had all but vanished, so their z is that of the finished encoder."""


class TokenTraining:
    """AdamW on encoder and decoder under `FitConfig`'s schedule; the rate stays at its last value beyond its end."""

    def __init__(self, token: RLToken, config: FitConfig, seed: int) -> None:
        self._token, self._config = token, config
        self.optimizer = torch.optim.AdamW(token.parameters(), lr=config.rate, weight_decay=config.weight_decay)
        self._draw = torch.Generator().manual_seed(seed + 1)
        self._z = torch.empty(0, token.config.dim)
        self._frames = 0
        self.steps = 0

    @property
    def rate(self) -> float:
        """Learning rate of the next step."""
        return self._config.rate * rate_factor(min(self.steps, self._config.steps - 1), self._config)

    def step(self, prefix: Prefix) -> tuple[dict[str, float], float]:
        """One step on tokens of demonstrations. Returns losses and the gradient's norm before clipping.

        Raises Diverged when the loss is not finite.
        """
        if self.steps == 0:
            self._token.measure(prefix.tokens, prefix.mask, prefix.kinds)
        loss = self._token.loss(prefix.tokens, prefix.mask, prefix.kinds, self._draw)
        losses = {"loss_rl_token": float(loss.rlt_loss.detach()), "loss_per_value": float(loss.per_value.detach())}
        if not math.isfinite(losses["loss_rl_token"]):
            raise Diverged(f"loss_rl_token is {losses['loss_rl_token']} at offline step {self.steps}")
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        self.optimizer.zero_grad()
        loss.rlt_loss.backward()
        norm = nn.utils.clip_grad_norm_(self._token.parameters(), self._config.clip)
        self.optimizer.step()
        self.steps += 1
        self._remember(prefix)
        return losses, float(norm)

    def finish(self) -> None:
        """Standardise z over the newest frames; nothing happens if no step was made here."""
        if len(self._z) > 1:
            self._token.standardise(self._z.to(self._token.shift.device))
        self._z = self._z[:0]

    def tensors(self) -> dict[str, Tensor]:
        """Everything that a step reads besides the token itself, by name: not copies."""
        state = self.optimizer.state_dict()["state"]
        moments = {f"adamw.{i}.{name}": t for i, values in state.items() for name, t in values.items()}
        counters = {"steps": torch.tensor(self.steps), "frames": torch.tensor(self._frames)}
        return moments | counters | {"draw": self._draw.get_state(), "z": self._z}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over tensors as `tensors` gave them; the optimiser stays the same object."""
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith("adamw."):
                _, index, name = key.split(".")
                state.setdefault(int(index), {})[name] = tensor
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})
        self._draw.set_state(tensors["draw"])
        self._z, self._frames, self.steps = tensors["z"], int(tensors["frames"]), int(tensors["steps"])

    @torch.no_grad()
    def _remember(self, prefix: Prefix) -> None:
        z = self._token.encode(prefix.tokens, prefix.mask, prefix.kinds)
        self._frames += len(z)
        wanted = min(STANDARDISING, max(len(z), self._frames // 10))
        self._z = torch.cat([self._z, z.cpu()])[-wanted:]

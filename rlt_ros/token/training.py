"""One run of the optimiser over an objective, a step at a time, which can be stopped and gone on with bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig
from rlt_ros.token.objective import Objective
from rlt_ros.token.processes import Processes, Single


class Training:
    """The same objective, configuration and seed give the same weights.

    config: its steps, batch and schedule hold for all parts of the objective. rows: int64, the frames to draw from,
    each equally often.
    """

    def __init__(
        self, objective: Objective, config: FitConfig, rows: Tensor, seed: int, processes: Processes | None = None
    ) -> None:
        self.objective, self.config, self.processes = objective, config, processes or Single()
        if config.batch % self.processes.count:
            raise ValueError(
                f"{objective.stage}: batch {config.batch} is no multiple of {self.processes.count} processes"
            )
        self.step = 0
        self.mean = Mean()
        objective.to(self.processes.device)
        optimiser = torch.optim.AdamW([_group(*part) for part in objective.parts()])
        self._model, self._optimiser = self.processes.prepare(objective, optimiser)
        self._order = Order(rows, config.batch, torch.Generator().manual_seed(seed))
        self._draw = torch.Generator().manual_seed(seed + 1 + self.processes.rank)

    @property
    def rate(self) -> float:
        """Learning rate of the next step, of the first part."""
        return self._rates()[0]

    @property
    def done(self) -> bool:
        """Whether all steps are made."""
        return self.step >= self.config.steps

    def advance(self) -> tuple[dict[str, float], float]:
        """One step. Returns losses, means over processes, and the largest norm of a part's gradient before clipping.

        Raises ArithmeticError, before any weight changes, when loss or gradient is not finite.
        """
        self._optimiser.zero_grad()
        losses = self._gradient(self._order.next())
        name, value = next(iter(losses.items()))
        self._require_finite(name, value)
        norms = self.processes.clip([(part, config.clip) for part, config in self.objective.parts()])
        self._require_finite("norm of the gradient", sum(norms))
        for group, rate in zip(self._optimiser.param_groups, self._rates()):
            group["lr"] = rate
        self._optimiser.step()
        if self.step >= min(0.9 * self.config.steps, self.config.steps - 1):
            self.mean.add(losses)
        self.step += 1
        return losses, max(norms)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the next step reads, by name: not copies. Every process has to ask for them at once.

        Of the weights, those that no gradient reaches are left out: the one who goes on has them already.
        """
        moments = self._optimiser.state_dict()["state"]
        return (
            {f"weights.{name}": tensor for name, tensor in changing(self.objective).items()}
            | {f"adamw.{i}.{name}": t for i, values in moments.items() for name, t in values.items()}
            | {"order.left": self._order.left, "order.generator": self._order.generator.get_state()}
            | {"draw": self.processes.gather(self._draw.get_state())}
            | {f"torch.{kind}": self.processes.gather(state()) for kind, (state, _) in self._generators().items()}
        )

    def values(self) -> dict[str, Any]:
        """The rest of it, JSON-ready."""
        return {"step": self.step, "processes": self.processes.count, "mean": self.mean.state()}

    def load(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Go on where `tensors` and `values` were taken. Raises ValueError where they belong to another training."""
        if values["processes"] != self.processes.count:
            raise ValueError(f"processes: {values['processes']} there, {self.processes.count} here")
        _load_weights(self.objective, _below("weights", tensors))
        self._optimiser.load_state_dict(self._optimiser.state_dict() | {"state": _moments(_below("adamw", tensors))})
        self._order.left = tensors["order.left"]
        self._order.generator.set_state(tensors["order.generator"])
        # Clones: set_state does not see where in a tensor's memory a row begins.
        self._draw.set_state(tensors["draw"][self.processes.rank].clone())
        for kind, (_, restore) in self._generators().items():
            restore(tensors[f"torch.{kind}"][self.processes.rank].clone())
        self.step, self.mean = values["step"], Mean(values["mean"])

    def _gradient(self, rows: Tensor) -> dict[str, float]:
        own = rows[self.processes.rank :: self.processes.count]
        total = Mean()
        for part in own.chunk(self.config.accumulate):
            losses = self._model(part, self._draw)
            # The last part may be smaller than the others.
            self.processes.backward(next(iter(losses.values())) * (len(part) / len(own)))
            total.add(self.processes.mean(losses), weight=len(part))
        return total.values()

    def _generators(self) -> dict[str, tuple[Callable[[], Tensor], Callable[[Tensor], None]]]:
        # What dropout inside a backend draws from.
        found = {"cpu": (torch.get_rng_state, torch.set_rng_state)}
        if self.processes.device.type == "cuda":
            found["cuda"] = (torch.cuda.get_rng_state, torch.cuda.set_rng_state)
        return found

    def _require_finite(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            raise ArithmeticError(f"{self.objective.stage}: {name} is {value} at step {self.step}")

    def _rates(self) -> list[float]:
        factor = rate_factor(self.step, self.config)
        return [config.rate * factor for _, config in self.objective.parts()]


def rate_factor(step: int, config: FitConfig) -> float:
    """Factor on the learning rate: linear warm-up, then half a cosine down to zero."""
    warmup = max(1, round(config.warmup * config.steps))
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, config.steps - warmup)))


class Mean:
    """Running means of named numbers."""

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        """state: of another one, to go on with."""
        self._sums: dict[str, float] = dict(state["sums"]) if state else {}
        self._count: int = state["count"] if state else 0

    def add(self, values: Mapping[str, float], weight: int = 1) -> None:
        """One more set of numbers; always the same names. weight: how many it stands for."""
        self._count += weight
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + weight * value

    def values(self) -> dict[str, float]:
        """The means; empty if nothing was added."""
        return {name: total / self._count for name, total in self._sums.items()}

    def state(self) -> dict[str, Any]:
        """What another one needs to go on, JSON-ready."""
        return {"sums": dict(self._sums), "count": self._count}


class Order:
    """Frames in batches: every one of the rows once before any comes again."""

    def __init__(self, rows: Tensor, batch: int, generator: torch.Generator) -> None:
        self._rows, self._batch, self.generator = rows, batch, generator
        self.left = torch.empty(0, dtype=torch.int64)

    def next(self) -> Tensor:
        """Rows (batch,) of the next step."""
        while len(self.left) < self._batch:
            fresh = self._rows[torch.randperm(len(self._rows), generator=self.generator)]
            self.left = torch.cat([self.left, fresh])
        chosen, self.left = self.left.split([self._batch, len(self.left) - self._batch])
        return chosen


def changing(model: nn.Module) -> dict[str, Tensor]:
    """Parameters that take a gradient and all buffers, by name; what two names share is there once."""
    weights = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    stored = model.state_dict()
    return weights | {name: buffer for name, buffer in model.named_buffers() if name in stored}


def _group(model: nn.Module, config: FitConfig) -> dict[str, Any]:
    weights = [p for p in model.parameters() if p.requires_grad]
    return {"params": weights, "lr": config.rate, "weight_decay": config.weight_decay}


@torch.no_grad()
def _load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    own = changing(model)
    if set(own) != set(weights):
        missing, unexpected = sorted(set(own) - set(weights)), sorted(set(weights) - set(own))
        raise ValueError(f"missing weights {missing}, unexpected weights {unexpected}")
    for name, tensor in own.items():
        if tensor.shape != weights[name].shape:
            raise ValueError(f"{name} is {tuple(weights[name].shape)} there, {tuple(tensor.shape)} here")
        tensor.copy_(weights[name])


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name[len(prefix) + 1 :]: t for name, t in tensors.items() if name.startswith(f"{prefix}.")}


def _moments(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = tensor
    return state

"""Updates as CUDA graphs: at the sizes of an actor-critic a GPU waits for the host between its many small kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from rlt_ros.rl.agent import Agent, UpdateInfo
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.draws import Draws, Prepared
from rlt_ros.rl.flat import Optimised
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import torch

Tensor = torch.Tensor
Result = TypeVar("Result")
WARM_UP = 3
"""Calls on a side stream before a capture, as CUDA asks for: libraries set themselves up in them."""


class Captured(Generic[Result]):
    """A function of nothing that reads and writes fixed memory, replayed from a CUDA graph after its first calls."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function, self._calls = function, 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> Result:
        """What the function returns: the same tensors each time, with new content."""
        self._calls += 1
        if self._calls <= WARM_UP:
            return self._aside()
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._result = self._function()
        self._graph.replay()
        return self._result

    def _aside(self) -> Result:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            result = self._function()
        torch.cuda.current_stream().wait_stream(side)
        return result


Capture = Callable[[Callable[[], Any]], Callable[[], Any]]


class GraphedAgent(Agent):
    """The updates of `Agent` with fixed shapes: batch, weights and random numbers are read from buffers, every row goes
    through every network, and nothing is asked of the host. Its numbers are those of `Agent` up to rounding.

    capture: makes of a function one that can be called again and again; anything but `Captured` is for tests.
    """

    def __init__(self, config: AgentConfig, dims: Dims, capture: Capture = Captured) -> None:
        super().__init__(config, dims)
        self._capture = capture
        self._terms = torch.zeros(2, device=config.device)
        self._batch: Batch | None = None

    def pretrain(self, batch: Batch) -> Tensor:
        """See `Agent.pretrain`."""
        self._load(batch)
        self._prepared.fill_kept()
        with self._drawn():
            return super().pretrain(self._batch)

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """See `Agent.load_tensors`. What was captured reads memory that is no longer the optimisers'."""
        super().load_tensors(tensors)
        self._batch = None

    def _update_critic(self, batch: Batch) -> UpdateInfo:
        self._load(batch)
        if self.config.target_noise > 0.0:
            self._prepared.fill_smoothing()
        self._prepared.fill_members()
        loss, q = self._critic_step()
        return UpdateInfo(loss.clone(), q.clone())

    def _update_actor(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self._prepared.fill_kept()
        if self.config.training_noise > 0.0:
            self._prepared.fill_training()
        self._terms.copy_(torch.tensor(self.weights))
        loss, bc = self._actor_step()
        return loss.clone(), bc.clone()

    def _optimised(self, module: torch.nn.Module) -> Optimised:
        # Adam without questions to the host exists on a GPU only.
        capturable = torch.device(self.config.device).type == "cuda"
        return Optimised(module, self.config.learning_rate, self.config.grad_clip, True, capturable)

    def _load(self, batch: Batch) -> None:
        if self._batch is None or self._batch.action.shape != batch.action.shape:
            self._batch = Batch(**{name: tensor.clone() for name, tensor in vars(batch).items()})
            self._prepare()
        for name, tensor in vars(batch).items():
            getattr(self._batch, name).copy_(tensor)

    def _prepare(self) -> None:
        like = self.policy_part(self._batch.action)
        self._prepared = Prepared(Draws(self.config, self.generator), like, self.config.target_critics)
        self._critic_step = self._capture(self._static_critic_step)
        self._actor_step = self._capture(self._static_actor_step)

    def _static_critic_step(self) -> tuple[Tensor, Tensor]:
        with self._drawn():
            info = super()._update_critic(self._batch)
        return info.critic_loss, info.q_mean

    def _static_actor_step(self) -> tuple[Tensor, Tensor]:
        with self._drawn():
            return super()._update_actor(self._batch)

    @contextmanager
    def _drawn(self) -> Iterator[None]:
        # Probes ask the networks outside of updates, with batches of their own.
        at_once, self._draws = self._draws, self._prepared
        try:
            yield
        finally:
            self._draws = at_once

    def _terms_of_loss(self) -> tuple[Tensor, Tensor]:
        return self._terms[0], self._terms[1]

    def _rows(self, wanted: Tensor) -> Tensor:
        return torch.arange(len(wanted), device=wanted.device)

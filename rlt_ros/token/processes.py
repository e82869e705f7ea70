"""One training process or several: what differs between them, in one place. Several need `accelerate`."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.objective import Objective

PATIENCE = timedelta(hours=12)
"""How long the others wait for the first process, which alone passes a dataset through the VLA."""


class Processes(Protocol):
    """Copies of one training, each on its share of every batch; all hold the same weights."""

    rank: int
    count: int
    device: torch.device

    def prepare(self, model: Objective, optimiser: torch.optim.Optimizer) -> tuple[nn.Module, Any]:
        """The two as a training step has to use them: gradients of the model are means over all processes."""

    def backward(self, loss: Tensor) -> None:
        """Add the gradient of a scalar."""

    def clip(self, parts: Sequence[tuple[nn.Module, float]]) -> list[float]:
        """Shorten the gradient of each model to its norm; returns the norms that they had."""

    def mean(self, losses: Mapping[str, Tensor]) -> dict[str, float]:
        """Means over all processes; every process gets the same numbers."""

    def gather(self, tensor: Tensor) -> Tensor:
        """The tensors (...) of all processes, stacked by rank (count, ...), on the processor."""

    def wait(self) -> None:
        """Until every process is here."""


class Single:
    """The only process."""

    def __init__(self, device: str = "cpu") -> None:
        self.rank, self.count, self.device = 0, 1, torch.device(device)

    def prepare(self, model: Objective, optimiser: torch.optim.Optimizer) -> tuple[nn.Module, Any]:
        """Nothing changes."""
        return model, optimiser

    def backward(self, loss: Tensor) -> None:
        """See `Processes`."""
        loss.backward()

    def clip(self, parts: Sequence[tuple[nn.Module, float]]) -> list[float]:
        """See `Processes`."""
        return [float(nn.utils.clip_grad_norm_(model.parameters(), norm)) for model, norm in parts]

    def mean(self, losses: Mapping[str, Tensor]) -> dict[str, float]:
        """See `Processes`."""
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def gather(self, tensor: Tensor) -> Tensor:
        """See `Processes`."""
        return tensor.cpu()[None]

    def wait(self) -> None:
        """Nobody else comes."""


class Accelerated(Single):
    """One of the processes of `accelerate launch`, or the only one with the precision that it was asked for."""

    def __init__(self) -> None:
        try:
            from accelerate import Accelerator
            from accelerate.utils import DistributedDataParallelKwargs, InitProcessGroupKwargs
        except ImportError as error:
            raise ImportError("accelerate is missing: pip install 'rlt_ros[gpus]'") from error
        self._gradients = DistributedDataParallelKwargs()
        # Without a GPU it would not see that there are several processes, unless told so.
        cpu, handlers = not torch.cuda.is_available(), [self._gradients, InitProcessGroupKwargs(timeout=PATIENCE)]
        self._accelerator = Accelerator(cpu=cpu, kwargs_handlers=handlers)
        if self._accelerator.mixed_precision == "fp16":
            # Its gradients overflow as a matter of course, and a step that overflows would look like a diverged one.
            raise ValueError("mixed_precision is fp16; expected bf16 or no")
        self.rank, self.count = self._accelerator.process_index, self._accelerator.num_processes
        self.device = self._accelerator.device
        # A process that ends with its group's threads still running is aborted now and then, after all is done.
        atexit.register(_leave)

    def prepare(self, model: Objective, optimiser: torch.optim.Optimizer) -> tuple[nn.Module, Any]:
        """See `Processes`."""
        self._gradients.find_unused_parameters = model.partial
        return self._accelerator.prepare(model, optimiser)

    def backward(self, loss: Tensor) -> None:
        """See `Processes`."""
        self._accelerator.backward(loss)

    def mean(self, losses: Mapping[str, Tensor]) -> dict[str, float]:
        """See `Processes`."""
        values = torch.stack([loss.detach().float() for loss in losses.values()])
        return dict(zip(losses, self._accelerator.reduce(values, "mean").tolist()))

    def gather(self, tensor: Tensor) -> Tensor:
        """See `Processes`."""
        return self._accelerator.gather(tensor.to(self.device)[None]).cpu()

    def wait(self) -> None:
        """See `Processes`."""
        self._accelerator.wait_for_everyone()


def _leave() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def current(device: str = "cpu") -> Processes:
    """This process, as its environment says: `accelerate launch` (GPUs) and torchrun (any) leave their marks there.

    device: of torch, where nobody else decides it.
    """
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ or int(os.environ.get("WORLD_SIZE", "1")) > 1
    return Accelerated() if launched else Single(device)

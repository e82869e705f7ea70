"""Networks whose parameters lie in one vector: clipping, optimiser and averaging become one operation each.

At these sizes a step over ten separate tensors costs as much as half of the multiplications.
"""

from __future__ import annotations

import math

from rlt_ros.tensor import torch

Tensor = torch.Tensor


def flatten(module: torch.nn.Module) -> Tensor:
    """Move a module's parameters into one vector, of which they become views, and return the vector."""
    parameters = list(module.parameters())
    flat = torch.cat([p.detach().reshape(-1) for p in parameters])
    for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters])):
        parameter.data = part.view(parameter.shape)
    return flat


class Optimised:
    """A network with its flat parameters and Adam on them.

    static: ask the host nothing, which costs one more pass over the gradient. capturable: Adam for a CUDA graph.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        learning_rate: float,
        grad_clip: float,
        static: bool = False,
        capturable: bool = False,
    ) -> None:
        self._parameters = list(module.parameters())
        self._grad_clip, self._static = grad_clip, static
        self.flat = flatten(module)
        self.flat.grad = torch.zeros_like(self.flat)
        self._norm = torch.full((), math.nan, device=self.flat.device)
        self.adam = torch.optim.Adam([self.flat], lr=learning_rate, fused=True, capturable=capturable)

    @property
    def grad_norm(self) -> float:
        """Norm of the newest gradient, before it was bounded; NaN before the first."""
        return float(self._norm)

    def descend(self, loss: Tensor) -> None:
        """One step down a loss, with the norm of this network's gradient bounded.

        Gradients are asked for by name: the actor's loss passes through the critics without one of their gradients
        being computed, let alone left behind for their next step.
        """
        # Into the same megabyte each time: a new one costs its page faults, a tenth of the update.
        gradient = self.flat.grad
        torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, self._parameters)], out=gradient)
        self._norm.copy_(gradient.norm())
        if self._static:
            gradient.mul_((self._grad_clip / self._norm).clamp(max=1.0))
        elif self.grad_norm > self._grad_clip:
            gradient.mul_(self._grad_clip / self.grad_norm)
        self.adam.step()


def keep_freed_memory() -> None:
    """Make the C library keep what tensors free, for the next ones, where it is glibc; elsewhere this does nothing.

    An update frees and asks for the same megabytes again and again. By default they go back to the system each time and
    come as new pages: a tenth of the time of an update. glibc raises its threshold to the largest block that it has
    seen freed. No more than is needed: a replay's columns must stay pages that cost nothing until they are written.
    """
    torch.empty(8 << 20, dtype=torch.uint8)

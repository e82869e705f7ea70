"""What LeRobot's trainer expects of an algorithm, as of its commit 7427f318 (August 2026).

With the `lerobot` package at hand these are its own types; without it, and it needs another Python and another torch
than ROS 2 has, they are ours with the same fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

BatchType = dict[str, Any]
"""A batch of LeRobot's replay buffer: nested mappings of tensors whose first dimension is the row (`batches`)."""

try:
    from lerobot.rl.algorithms.base import RLAlgorithm
    from lerobot.rl.algorithms.configs import TrainingStats
except ImportError:
    RLAlgorithm = None

    @dataclass
    class TrainingStats:
        """Scalars of one training step, by name. grad_norms: by optimiser."""

        losses: dict[str, float] = field(default_factory=dict)
        grad_norms: dict[str, float] = field(default_factory=dict)
        extra: dict[str, float] = field(default_factory=dict)

        def to_log_dict(self) -> dict[str, float]:
            """All of them in one dictionary; gradient norms as `<name>_grad_norm`."""
            norms = {f"{name}_grad_norm": value for name, value in self.grad_norms.items()}
            return self.losses | norms | self.extra


def conforming(cls: type[T]) -> type[T]:
    """Class decorator: an instance passes for LeRobot's `RLAlgorithm` where there is one. A virtual subclass, because
    its own hub mixin is a lighter copy of the hub library's, of which the class is a real one.
    """
    if RLAlgorithm is not None:
        RLAlgorithm.register(cls)
    return cls

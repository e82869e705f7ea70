"""An early word when a loss does not fall: after a seventh of the steps, not after a night."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WINDOWS = 20
"""Into so many stretches a training is cut; means over them are compared."""
LEAST = 10
"""Steps in a stretch at least: a mean over fewer is mostly noise."""
FALL = 0.02
"""Share of the first stretch's mean by which the mean since has to be below it."""


class Watch:
    """Compares means of the loss over stretches of the training; speaks once."""

    def __init__(self, stage: str, steps: int) -> None:
        self._stage, self._size = stage, max(LEAST, steps // WINDOWS)
        self._means: list[float] = []
        self._sum, self._count, self._warned = 0.0, 0, False

    def see(self, loss: float) -> str:
        """The loss of the next step, finite; returns a warning, empty if there is none."""
        self._sum, self._count = self._sum + loss, self._count + 1
        if self._count < self._size:
            return ""
        self._means.append(self._sum / self._count)
        self._sum, self._count = 0.0, 0
        return self._judge()

    def state(self) -> dict[str, Any]:
        """What another one needs to go on, JSON-ready."""
        return {"means": list(self._means), "sum": self._sum, "count": self._count, "warned": self._warned}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` gave."""
        self._means, self._sum = list(state["means"]), state["sum"]
        self._count, self._warned = state["count"], state["warned"]

    def _judge(self) -> str:
        first, later = self._means[0], self._means[2:]
        if self._warned or not later or sum(later) / len(later) < first - FALL * abs(first):
            return ""
        self._warned = True
        return (
            f"{self._stage}: the loss does not fall: mean {first:.4g} over the first {self._size} steps, "
            f"{later[-1]:.4g} over the last {self._size}; see docs/stage1.md"
        )

"""Base class of conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Condition:
    """Decides in the context of the launch whether an action is executed."""

    def __init__(self, *, predicate: Callable[[LaunchContext], bool] | None = None) -> None:
        self._predicate = predicate

    def evaluate(self, context: LaunchContext) -> bool:
        """Return whether the condition holds; without a predicate it does not."""
        return self._predicate is not None and self._predicate(context)

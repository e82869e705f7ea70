"""Base class of what is resolved to text while launching."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Substitution:
    """Text that is known only once the launch context exists."""

    def describe(self) -> str:
        """Return a short text for people."""
        return f"{type(self).__name__}()"

    def perform(self, context: LaunchContext) -> str:
        """Return the resolved text."""
        raise NotImplementedError(type(self).__name__)

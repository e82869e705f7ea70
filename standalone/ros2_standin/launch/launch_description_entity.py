"""Base class of everything that can stand in a launch description."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext

Conditional = list[tuple[str, Iterable["LaunchDescriptionEntity"]]]


class LaunchDescriptionEntity:
    """A node of the tree that launching walks through."""

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do the entity's work; return what is to be visited next."""
        return None

    def describe_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """Return the entities beneath this one that are visited in any case."""
        return []

    def describe_conditional_sub_entities(self) -> Conditional:
        """Return the entities beneath this one that are visited only sometimes."""
        return []

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return a future that is done when the entity has finished, if it takes time."""
        return None

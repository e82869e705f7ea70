"""Base class of actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._support import reject_keywords
from .condition import Condition
from .launch_description_entity import Conditional, LaunchDescriptionEntity

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Action(LaunchDescriptionEntity):
    """Something to do, if its condition holds."""

    def __init__(self, *, condition: Condition | None = None, **unsupported: Any) -> None:
        reject_keywords(self, unsupported)
        self.__condition = condition

    @property
    def condition(self) -> Condition | None:
        """The condition given to the constructor."""
        return self.__condition

    def describe(self) -> str:
        """Return a short text for people."""
        return f"{type(self).__name__}(...)"

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Return the entities that this action would visit."""
        return []

    def describe_sub_entities(self) -> Iterable[LaunchDescriptionEntity]:
        """See the base class."""
        return self.get_sub_entities() if self.condition is None else []

    def describe_conditional_sub_entities(self) -> Conditional:
        """See the base class."""
        return [] if self.condition is None else [(self.describe(), self.get_sub_entities())]

    def visit(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Execute the action if its condition holds, and tell who waits for its completion."""
        if self.__condition is not None and not self.__condition.evaluate(context):
            return None
        try:
            return self.execute(context)
        finally:
            self._announce_completion(context)

    def execute(self, context: LaunchContext) -> Iterable[LaunchDescriptionEntity] | None:
        """Do the work; return what is to be visited next."""
        return None

    def _announce_completion(self, context: LaunchContext) -> None:
        from .events import ExecutionComplete

        event = ExecutionComplete(action=self)
        if not context.would_handle_event(event):
            return
        future = self.get_asyncio_future()
        if future is None:
            context.emit_event_sync(event)
        else:
            future.add_done_callback(lambda _: context.emit_event_sync(event))

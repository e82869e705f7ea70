"""Base classes of event handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._support import reject_keywords
from .event import Event
from .launch_description_entity import LaunchDescriptionEntity
from .some_entities_type import SomeEntitiesType, entity_list

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class BaseEventHandler:
    """Reacts to the events that its matcher accepts."""

    def __init__(self, *, matcher: Callable[[Event], bool], handle_once: bool = False, **unsupported: Any) -> None:
        reject_keywords(self, unsupported)
        self.__matcher = matcher
        self.__handle_once = handle_once

    @property
    def handle_once(self) -> bool:
        """Whether the handler goes away after its first event."""
        return self.__handle_once

    def matches(self, event: Event) -> bool:
        """Return whether this handler wants the event."""
        return self.__matcher(event)

    def entities_for_description(self) -> list[LaunchDescriptionEntity]:
        """Return the entities that are known before any event, for `--show-args`."""
        return []

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Handle the event; return what is to be visited because of it."""
        context.extend_locals({"event": event})
        if self.handle_once:
            context.unregister_event_handler(self)
        return None


class EventHandler(BaseEventHandler):
    """Visits fixed entities at each matching event."""

    def __init__(
        self,
        *,
        matcher: Callable[[Event], bool],
        entities: SomeEntitiesType | None = None,
        handle_once: bool = False,
    ) -> None:
        super().__init__(matcher=matcher, handle_once=handle_once)
        self.__entities = entities

    @property
    def entities(self) -> SomeEntitiesType | None:
        """The entities given to the constructor."""
        return self.__entities

    def entities_for_description(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        return entity_list(self.__entities)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """See the base class."""
        super().handle(event, context)
        return self.__entities

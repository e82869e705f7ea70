"""Event handlers that launch files register."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._support import missing_attribute
from ..event import Event
from ..event_handler import BaseEventHandler
from ..events import ExecutionComplete, Shutdown
from ..events.process import ProcessExited, ProcessIO, ProcessStarted
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType, entity_list

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

__getattr__ = missing_attribute(__name__)
__all__ = [
    "OnExecutionComplete",
    "OnProcessExit",
    "OnProcessIO",
    "OnProcessStart",
    "OnShutdown",
    "event_named",
]

Reaction = SomeEntitiesType | Callable[..., SomeEntitiesType | None]


def event_named(name: str) -> Callable[[Event], bool]:
    """Return a matcher for events of the name."""
    return lambda event: event.name == name


class _Reacting(BaseEventHandler):
    """Visits entities, or what a function called with event and context returns."""

    def __init__(self, matcher: Callable[[Any], bool], reaction: Reaction, **kwargs: Any) -> None:
        super().__init__(matcher=matcher, **kwargs)
        self.__reaction = reaction
        if not callable(reaction):
            _check_entities(reaction)

    def entities_for_description(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        return [] if callable(self.__reaction) else entity_list(self.__reaction)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """See the base class."""
        super().handle(event, context)
        return self.__reaction(event, context) if callable(self.__reaction) else self.__reaction


class _OnActionEvent(_Reacting):
    """Reacts to an event of one action, of those a function accepts, or of any."""

    def __init__(self, kind: type[Event], target: Any, reaction: Reaction, **kwargs: Any) -> None:
        if target is not None and not isinstance(target, LaunchDescriptionEntity) and not callable(target):
            raise TypeError(f"{type(self).__name__}: the target must be an action or a callable, got {target!r}")
        super().__init__(lambda event: isinstance(event, kind) and _accepts(target, event), reaction, **kwargs)


class OnProcessExit(_OnActionEvent):
    """Reacts when a process has ended."""

    def __init__(self, *, target_action: Any = None, on_exit: Reaction, **kwargs: Any) -> None:
        super().__init__(ProcessExited, target_action, on_exit, **kwargs)


class OnProcessStart(_OnActionEvent):
    """Reacts when a process has started."""

    def __init__(self, *, target_action: Any = None, on_start: Reaction, **kwargs: Any) -> None:
        super().__init__(ProcessStarted, target_action, on_start, **kwargs)


class OnExecutionComplete(_OnActionEvent):
    """Reacts when an action has been executed and has finished."""

    def __init__(self, *, target_action: Any = None, on_completion: Reaction, **kwargs: Any) -> None:
        super().__init__(ExecutionComplete, target_action, on_completion, **kwargs)


class OnShutdown(_Reacting):
    """Reacts when the launch is to end."""

    def __init__(self, *, on_shutdown: Reaction, **kwargs: Any) -> None:
        super().__init__(lambda event: isinstance(event, Shutdown), on_shutdown, **kwargs)


class OnProcessIO(_OnActionEvent):
    """Reacts to what a process writes."""

    def __init__(
        self,
        *,
        target_action: Any = None,
        on_stdout: Callable[[ProcessIO], SomeEntitiesType | None] | None = None,
        on_stderr: Callable[[ProcessIO], SomeEntitiesType | None] | None = None,
        **kwargs: Any,
    ) -> None:
        def react(event: ProcessIO, context: LaunchContext) -> SomeEntitiesType | None:
            function = on_stdout if event.from_stdout else on_stderr
            return None if function is None else function(event)

        super().__init__(ProcessIO, target_action, react, **kwargs)


def _accepts(target: Any, event: Any) -> bool:
    if target is None or event.action is target:
        return True
    return callable(target) and target(event.action)


def _check_entities(reaction: Any) -> None:
    for entity in entity_list(reaction):
        if not isinstance(entity, LaunchDescriptionEntity):
            raise TypeError(f"expected launch description entities, got '{type(entity)}'")

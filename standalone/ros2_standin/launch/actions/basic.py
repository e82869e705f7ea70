"""Actions that call functions, log, emit events and wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .. import events, logging
from ..action import Action
from ..event import Event
from ..event_handler import BaseEventHandler
from ..event_handlers import OnShutdown
from ..events.process import ProcessExited
from ..launch_description_entity import Conditional, LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class OpaqueFunction(Action):
    """Calls a function with the context; what it returns is visited."""

    def __init__(
        self,
        *,
        function: Callable[..., SomeEntitiesType | None],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected a callable for 'function', got '{type(function)}'")
        self.__function = function
        self.__args = list(args or ())
        self.__kwargs = kwargs or {}

    def execute(self, context: LaunchContext) -> Any:
        """See the base class."""
        return self.__function(context, *self.__args, **self.__kwargs)


class LogInfo(Action):
    """Writes a line to the screen and the launch log."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.msg = normalize_to_list_of_substitutions(msg)

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        logging.get_logger("launch.user").info(perform_substitutions(context, self.msg))


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(event, Event):
            raise RuntimeError(f"EmitEvent() expected an event instance, got '{event}'.")
        self.event = event

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.emit_event_sync(self.event)


class Shutdown(EmitEvent):
    """Ends the launch; as `on_exit` of a process it makes that process a required one."""

    def __init__(self, *, reason: str = "reason not given", **kwargs: Any) -> None:
        super().__init__(event=events.Shutdown(reason=reason), **kwargs)

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        event = context.get_locals_as_dict().get("event")
        if isinstance(event, ProcessExited):
            logger = logging.get_logger("launch")
            logger.info("process[%s] was required: shutting down launched system", event.process_name)
        super().execute(context)


class RegisterEventHandler(Action):
    """Registers an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.register_event_handler(self.event_handler)

    def describe_conditional_sub_entities(self) -> Conditional:
        """See the base class."""
        return [(type(self.event_handler).__name__, self.event_handler.entities_for_description())]


class UnregisterEventHandler(Action):
    """Removes an event handler."""

    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.unregister_event_handler(self.event_handler)


class TimerAction(Action):
    """Visits its actions after a time, with the locals of the place where it stands."""

    def __init__(
        self,
        *,
        period: float | SomeSubstitutionsType,
        actions: Iterable[LaunchDescriptionEntity],
        cancel_on_shutdown: Any = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.__period = normalize_typed_substitution(period if not isinstance(period, (int, str)) else float(period))
        self.actions = list(actions)
        self.__cancel_on_shutdown = normalize_typed_substitution(cancel_on_shutdown, bool)
        self.__canceled = False
        self.__task: asyncio.Task[None] | None = None
        self.__scope: dict[str, Any] = {}

    def describe_conditional_sub_entities(self) -> Conditional:
        """See the base class."""
        return [("timer", self.actions)]

    def cancel(self) -> None:
        """Make the timer never fire."""
        self.__canceled = True
        if self.__task is not None:
            self.__task.cancel()

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """See the base class."""
        return self.__task

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        if self.__canceled:
            return
        assert context.asyncio_loop is not None
        self.__scope = context.get_locals_as_dict()
        period = perform_typed_substitution(context, self.__period, float)
        self.__task = context.asyncio_loop.create_task(self._fire_after(period, context))
        if perform_typed_substitution(context, self.__cancel_on_shutdown, bool):
            context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))

    async def _fire_after(self, period: float, context: LaunchContext) -> None:
        await asyncio.sleep(period)
        context.emit_event_sync(events.TimerEvent(timer_action=self))

    def handle(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the actions, in the scope of the timer."""
        context.extend_locals(self.__scope)
        return self.actions

"""What the entities of one launch share."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable, MutableMapping
from types import SimpleNamespace
from typing import Any

from .event import Event
from .event_handler import BaseEventHandler
from .substitution import Substitution


class LaunchContext:
    """Launch configurations, environment, locals and events of one running launch."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False) -> None:
        self.argv = list(argv or [])
        self.noninteractive = noninteractive
        self.is_shutdown = False
        self.asyncio_loop: asyncio.AbstractEventLoop | None = None
        self.launch_configurations: dict[str, Any] = {}
        self._event_queue: asyncio.Queue[Event] = asyncio.Queue()
        self._event_handlers: deque[BaseEventHandler] = deque()
        self._completion_futures: list[asyncio.Future[Any]] = []
        self._globals: dict[str, Any] = {}
        self._locals: dict[str, Any] = {}
        self._locals_stack: list[dict[str, Any]] = []
        self._configurations_stack: list[dict[str, Any]] = []
        self._environment_stack: list[dict[str, str]] = []
        self._environment_at_start = dict(os.environ)

    @property
    def environment(self) -> MutableMapping[str, str]:
        """The environment that processes started now would get."""
        return os.environ

    @property
    def locals(self) -> SimpleNamespace:
        """Variables of the current scope, read as attributes."""
        return SimpleNamespace(**self.get_locals_as_dict())

    def get_locals_as_dict(self) -> dict[str, Any]:
        """Return the variables of the current scope."""
        return {**self._globals, **self._locals}

    def extend_globals(self, extensions: dict[str, Any]) -> None:
        """Set variables for all scopes."""
        self._globals.update(extensions)

    def extend_locals(self, extensions: dict[str, Any]) -> None:
        """Set variables of the current scope."""
        self._locals.update(extensions)

    def perform_substitution(self, substitution: Substitution) -> str:
        """Return the text that the substitution stands for."""
        return substitution.perform(self)

    def add_completion_future(self, completion_future: asyncio.Future[Any]) -> None:
        """Keep the launch alive until the future is done."""
        self._completion_futures.append(completion_future)

    def register_event_handler(self, event_handler: BaseEventHandler, append: bool = False) -> None:
        """Register a handler; the newest is asked first unless appended."""
        (self._event_handlers.append if append else self._event_handlers.appendleft)(event_handler)

    def unregister_event_handler(self, event_handler: BaseEventHandler) -> None:
        """Remove a handler."""
        self._event_handlers.remove(event_handler)

    def would_handle_event(self, event: Event) -> bool:
        """Return whether any handler wants the event."""
        return any(handler.matches(event) for handler in self._event_handlers)

    def emit_event_sync(self, event: Event) -> None:
        """Queue an event from within the loop."""
        self._event_queue.put_nowait(event)

    async def emit_event(self, event: Event) -> None:
        """Queue an event."""
        self.emit_event_sync(event)

    def _push_locals(self) -> None:
        self._locals_stack.append(dict(self._locals))

    def _pop_locals(self) -> None:
        self._locals = self._locals_stack.pop()

    def _push_launch_configurations(self) -> None:
        self._configurations_stack.append(dict(self.launch_configurations))

    def _pop_launch_configurations(self) -> None:
        if not self._configurations_stack:
            raise RuntimeError("launch_configurations stack unexpectedly empty")
        self.launch_configurations = self._configurations_stack.pop()

    def _push_environment(self) -> None:
        self._environment_stack.append(dict(os.environ))

    def _pop_environment(self) -> None:
        if not self._environment_stack:
            raise RuntimeError("environment stack unexpectedly empty")
        self._set_environment(self._environment_stack.pop())

    def _reset_environment(self) -> None:
        self._set_environment(self._environment_at_start)

    @staticmethod
    def _set_environment(environment: dict[str, str]) -> None:
        os.environ.clear()
        os.environ.update(environment)

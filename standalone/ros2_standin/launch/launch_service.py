"""Walks through a launch description and keeps its processes until all have ended."""

from __future__ import annotations

import asyncio
import logging as std_logging
import signal
import traceback
from collections.abc import Iterable
from typing import Any

from . import logging
from .actions import ExecuteLocal, OpaqueFunction
from .event import Event
from .event_handler import EventHandler
from .events import Shutdown, TimerEvent
from .events.process import SignalProcess
from .launch_context import LaunchContext
from .launch_description_entity import LaunchDescriptionEntity
from .some_entities_type import entity_list


class LaunchService:
    """Runs launch descriptions.

    Whatever ends it (Ctrl-C, SIGTERM, an error in a launch file), it leaves only when no process
    of its is left. The return code is 1 after an error of the launch itself, SIGQUIT or SIGHUP, else 0,
    whatever the return codes of the processes.
    """

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False, debug: bool = False) -> None:
        logging.launch_config.level = std_logging.DEBUG if debug else std_logging.INFO
        self.context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self._logger = logging.get_logger("launch")
        self._descriptions: list[LaunchDescriptionEntity] = []
        self._futures: set[asyncio.Future[Any]] = set()
        self._return_code = 0
        self._interrupted = False

    def include_launch_description(self, launch_description: LaunchDescriptionEntity) -> None:
        """Add a description to be visited when the service runs."""
        self._descriptions.append(launch_description)

    def run(self, *, shutdown_when_idle: bool = True) -> int:
        """Run until everything has ended; return the code to exit with."""
        return asyncio.run(self.run_async(shutdown_when_idle=shutdown_when_idle))

    async def run_async(self, *, shutdown_when_idle: bool = True) -> int:
        """Run until everything has ended; return the code to exit with."""
        self.context.asyncio_loop = asyncio.get_running_loop()
        self._logger.info("All log files can be found below %s", logging.launch_config.log_dir)
        level = std_logging.getLevelName(logging.launch_config.level)
        self._logger.info("Default logging verbosity is set to %s", level)
        timers = EventHandler(matcher=lambda e: isinstance(e, TimerEvent), entities=OpaqueFunction(function=_fire))
        self.context.register_event_handler(timers)
        self._handle_signals(self.context.asyncio_loop)
        self._guarded(self._visit_all, self._descriptions)
        while not self.context.is_shutdown or not self._idle():
            await self._step(shutdown_when_idle)
        return self._return_code

    def shutdown(self, reason: str = "LaunchService.shutdown() called") -> None:
        """End the launch."""
        self._shutdown(reason)

    async def _step(self, shutdown_when_idle: bool) -> None:
        """Handle one event, or wait for the next or for something to finish."""
        queue = self.context._event_queue
        if not queue.empty():
            self._guarded(self._handle, queue.get_nowait())
        elif self._idle():
            if shutdown_when_idle:
                self._shutdown("idle")
            else:
                self._guarded(self._handle, await queue.get())
        else:
            await self._wait()

    async def _wait(self) -> None:
        """Wait for an event or the end of something; the event, if any, is handled."""
        getter = asyncio.ensure_future(self.context._event_queue.get())
        pending = [*self._futures, *self.context._completion_futures]
        await asyncio.wait([getter, *pending], return_when=asyncio.FIRST_COMPLETED)
        if getter.done():
            self._guarded(self._handle, getter.result())
        else:
            getter.cancel()

    def _idle(self) -> bool:
        """Forget what has finished; return whether nothing is left to wait for."""
        done = {future for future in (*self._futures, *self.context._completion_futures) if future.done()}
        self._futures -= done
        self.context._completion_futures = [f for f in self.context._completion_futures if f not in done]
        for future in done:
            if not future.cancelled() and (error := future.exception()) is not None:
                self._fail(error)
        return not self._futures and not self.context._completion_futures and self.context._event_queue.empty()

    def _handle(self, event: Event) -> None:
        self._logger.debug("processing event: '%s'", event.name)
        if isinstance(event, Shutdown):
            self.context.is_shutdown = True
        for handler in tuple(self.context._event_handlers):
            if handler.matches(event):
                self.context._push_locals()
                try:
                    self._visit_all(entity_list(handler.handle(event, self.context)))
                finally:
                    self.context._pop_locals()

    def _visit_all(self, entities: Iterable[LaunchDescriptionEntity]) -> None:
        for entity in entities:
            if not isinstance(entity, LaunchDescriptionEntity):
                raise RuntimeError(f"expected a LaunchDescriptionEntity, got '{entity!r}'")
            sub_entities = entity.visit(self.context)
            future = entity.get_asyncio_future()
            if future is not None:
                self._futures.add(future)
            self._visit_all(entity_list(sub_entities))

    def _guarded(self, function: Any, argument: Any) -> None:
        try:
            function(argument)
        except Exception as error:  # launch files run arbitrary code, and their processes must be ended
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._logger.debug("".join(traceback.format_exception(error)))
        message = f"Caught exception in launch (see debug for traceback): {error}"
        self._logger.error(message)
        self._return_code = 1
        self._shutdown(message)

    def _shutdown(self, reason: str, due_to_sigint: bool = False) -> None:
        if not self.context.is_shutdown:
            self.context.emit_event_sync(Shutdown(reason=reason, due_to_sigint=due_to_sigint))
        self.context.is_shutdown = True

    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        # this also takes back an inherited "ignore", as of `ros2 launch ... &` in a script
        loop.add_signal_handler(signal.SIGINT, self._on_sigint)
        for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
            loop.add_signal_handler(number, self._on_termination, number.name)

    def _on_sigint(self) -> None:
        again = " again, ignoring..." if self._interrupted else ""
        self._logger.warning("user interrupted with ctrl-c (SIGINT)%s", again)
        self._interrupted = True
        self._shutdown("ctrl-c (SIGINT)", due_to_sigint=True)

    def _on_termination(self, name: str) -> None:
        self._logger.warning("received %s, shutting down", name)
        if name != signal.SIGTERM.name:  # the usual way of a service manager to end a run that is fine
            self._return_code = 1
        if self.context.is_shutdown:  # asked before: do not wait for the processes' time-out
            request = SignalProcess(signal_number=signal.SIGTERM, process_matcher=_any_process)
            self.context.emit_event_sync(request)
        self._shutdown(name)


def _fire(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    return context.locals.event.timer_action.handle(context)


def _any_process(action: ExecuteLocal) -> bool:
    return True

"""The life of one ExecuteLocal action: start, output, respawn, escalating shutdown."""

from __future__ import annotations

import asyncio
import signal
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import logging
from ._child import Child, Command
from .events.process import ProcessExited, ProcessStarted, ProcessStderr, ProcessStdout

if TYPE_CHECKING:
    from .actions import ExecuteLocal
    from .launch_context import LaunchContext


@dataclass(frozen=True)
class Policy:
    """How a process is restarted and stopped; times in seconds."""

    sigterm_timeout: float
    sigkill_timeout: float
    respawn: bool
    respawn_delay: float
    respawn_max_retries: int


class Supervisor:
    """Runs the process of an action and keeps its promises about shutdown and respawn."""

    def __init__(self, action: ExecuteLocal, context: LaunchContext, command: Command, policy: Policy) -> None:
        assert context.asyncio_loop is not None
        self._action = action
        self._context = context
        self._command = command
        self._policy = policy
        self._loop = context.asyncio_loop
        self._details: dict[str, Any] = action.process_details or {}
        self._logger = logging.get_logger(self._details["name"])
        self._output = action.open_output(context)
        self._child: Child | None = None
        self._stopping = False
        self._respawns = 0
        self._timers: list[asyncio.TimerHandle] = []
        self.returncode: int | None = None
        self.finished: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> None:
        """Start the process; a process that cannot start counts as finished, as in the real launch."""
        try:
            self._child = Child(self._loop, self._command, self._on_data, self._on_exit)
        except OSError:
            self._logger.error("exception occurred while executing process:\n%s", traceback.format_exc())
            self._finish()
            return
        self._details["pid"] = self._child.pid
        self._logger.info("process started with pid [%d]", self._child.pid)
        self._context.emit_event_sync(ProcessStarted(**self._details))

    def shutdown(self, send_sigint: bool) -> None:
        """End the process: SIGINT (unless it has had one), then SIGTERM, then SIGKILL."""
        if self._stopping or self.finished.done():
            return
        self._stopping = True
        self._cancel_timers()
        if self._child is None:  # between two respawns
            self._finish()
            return
        if send_sigint:
            self.send_signal("SIGINT")
        policy = self._policy
        self._escalate(policy.sigterm_timeout, "SIGINT", "SIGTERM", policy.sigterm_timeout)
        total = policy.sigterm_timeout + policy.sigkill_timeout
        self._escalate(total, "SIGTERM", "SIGKILL", policy.sigkill_timeout)

    def send_signal(self, name: str) -> None:
        """Send the signal of the name if the process runs."""
        if self._child is not None:
            self._logger.info("sending signal '%s' to process[%s]", name, self._details["name"])
            self._child.send_signal(signal.Signals[name])

    def _escalate(self, delay: float, sent: str, name: str, waited: float) -> None:
        def escalate() -> None:
            self._logger.error(
                "process[%s] failed to terminate '%s' seconds after receiving '%s', escalating to '%s'",
                self._details["name"], waited, sent, name,
            )  # fmt: skip
            self.send_signal(name)

        self._timers.append(self._loop.call_later(delay, escalate))

    def _on_data(self, source: int, data: bytes) -> None:
        self._output.write(source, data)
        kind = ProcessStdout if source == 1 else ProcessStderr
        event = kind(text=data, **self._details)
        if self._context.would_handle_event(event):
            self._context.emit_event_sync(event)

    def _on_exit(self, returncode: int) -> None:
        self.returncode = returncode
        self._child = None
        self._output.flush()
        self._log_exit(returncode)
        self._context.emit_event_sync(ProcessExited(returncode=returncode, **self._details))
        if self._may_respawn():
            self._respawns += 1
            self._timers.append(self._loop.call_later(self._policy.respawn_delay, self.start))
        else:
            self._finish()

    def _log_exit(self, returncode: int) -> None:
        pid = self._details["pid"]
        if returncode == 0:
            self._logger.info("process has finished cleanly [pid %d]", pid)
            return
        cmd = " ".join(part for part in self._command.cmd if part.strip())
        self._logger.error("process has died [pid %d, exit code %d, cmd '%s'].", pid, returncode, cmd)

    def _may_respawn(self) -> bool:
        limit = self._policy.respawn_max_retries
        wanted = self._policy.respawn and not self._stopping and not self._context.is_shutdown
        return wanted and (limit < 0 or self._respawns < limit)

    def _finish(self) -> None:
        self._cancel_timers()
        if not self.finished.done():
            self.finished.set_result(None)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

"""Events of processes."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._support import missing_attribute
from ...event import Event

if TYPE_CHECKING:
    from ...actions import ExecuteLocal

__getattr__ = missing_attribute(__name__)

Matcher = Callable[["ExecuteLocal"], bool]


class RunningProcessEvent(Event):
    """Something happened to a process."""

    name = "launch.events.process.RunningProcessEvent"

    def __init__(
        self,
        *,
        action: ExecuteLocal,
        name: str,
        cmd: list[str],
        cwd: str | None,
        env: dict[str, str] | None,
        pid: int,
    ) -> None:
        self.action = action
        self.process_name = name
        self.cmd = cmd
        self.cwd = cwd
        self.env = env
        self.pid = pid

    @property
    def execute_process_action(self) -> ExecuteLocal:
        """The action that started the process."""
        return self.action


class ProcessStarted(RunningProcessEvent):
    """A process runs."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """A process has ended; a negative return code is the number of the signal that ended it."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, *, returncode: int, **details: object) -> None:
        super().__init__(**details)  # type: ignore[arg-type]
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """A process has written something."""

    name = "launch.events.process.ProcessIO"

    def __init__(self, *, text: bytes, fd: int, **details: object) -> None:
        super().__init__(**details)  # type: ignore[arg-type]
        self.text = text
        self.from_stdout = fd == 1
        self.from_stderr = fd == 2


class ProcessStdout(ProcessIO):
    """A process has written to its standard output."""

    name = "launch.events.process.ProcessStdout"

    def __init__(self, *, text: bytes, **details: object) -> None:
        super().__init__(text=text, fd=1, **details)


class ProcessStderr(ProcessIO):
    """A process has written to its standard error."""

    name = "launch.events.process.ProcessStderr"

    def __init__(self, *, text: bytes, **details: object) -> None:
        super().__init__(text=text, fd=2, **details)


class ProcessTargetedEvent(Event):
    """Something is to happen to the processes that the matcher accepts."""

    name = "launch.events.process.ProcessTargetedEvent"

    def __init__(self, *, process_matcher: Matcher) -> None:
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """Processes are to end: SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """A signal is to be sent to processes."""

    name = "launch.events.process.SignalProcess"

    def __init__(self, *, signal_number: str | signals.Signals, process_matcher: Matcher) -> None:
        super().__init__(process_matcher=process_matcher)
        if not isinstance(signal_number, (str, signals.Signals)):
            raise TypeError(f"signal_number must be text or signal.Signals, got {type(signal_number)}")
        self.signal = signal_number

    @property
    def signal_name(self) -> str:
        """The signal's name, such as SIGINT."""
        return self.signal if isinstance(self.signal, str) else self.signal.name


def matches_pid(pid: int) -> Matcher:
    """Return a matcher for the process with the id."""
    return lambda action: action.process_details is not None and action.process_details.get("pid") == pid


def matches_name(name: str) -> Matcher:
    """Return a matcher for the process with the name, `-1` and so on included."""
    return lambda action: action.process_details is not None and action.process_details["name"] == name


def matches_executable(executable: str) -> Matcher:
    """Return a matcher for processes of the executable."""
    return lambda action: action.process_details is not None and action.process_details["cmd"][0].endswith(executable)

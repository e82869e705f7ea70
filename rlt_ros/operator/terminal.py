"""The terminal that a full-screen view borrows: refused where there is none, given back however the view ends."""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 3.0
"""s that a view has to close after a signal; then the process ends without it."""
_LEAVE = b"\x1b[<u\x1b[?2004l\x1b[?1004l\x1b[?1049l\x1b[?25h"
"""Keyboard protocol, paste and focus reports off, first screen, cursor shown."""


class NoTerminal(ValueError):
    """Standard input or output is no terminal."""


def check_terminal() -> None:
    """Raise NoTerminal where keys cannot be read or nothing can be drawn."""
    for name, stream in (("stdin", sys.__stdin__), ("stdout", sys.__stdout__)):
        if stream is None or not stream.isatty():
            raise NoTerminal(
                f"{name} is no terminal, and single keys are read from one. Inside ros2 launch it is a pipe; start the "
                "console by itself: ros2 run rlt_ros console --ros-args -r __ns:=/rlt"
            )


@contextmanager
def borrowed() -> Iterator[None]:
    """The terminal's attributes are afterwards what they were before.

    Meanwhile file descriptor 2 leads to a file: a library that writes there would draw over the view. What it wrote is
    printed at the end.
    """
    attributes = termios.tcgetattr(sys.__stdin__.fileno())
    screen = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        before, sys.__stderr__ = sys.__stderr__, os.fdopen(screen, "w", encoding="utf-8", errors="replace")
        os.dup2(aside.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(screen, 2)
            # A terminal that was closed cannot be given back.
            with suppress(termios.error, OSError):
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, attributes)
            with suppress(OSError, ValueError):
                sys.__stderr__.close()
            sys.__stderr__ = before
            aside.seek(0)
            with suppress(OSError):
                os.write(2, aside.read())


def close_on_signal(close: Callable[[], None]) -> None:
    """Call `close` at SIGINT, SIGTERM, SIGHUP and when the terminal is gone, from whatever thread; a view that has not
    closed `PATIENCE` seconds later is left behind, with the terminal as it is now.
    """
    terminal = sys.__stdin__.fileno()
    attributes = termios.tcgetattr(terminal)

    def leave(number: int) -> None:
        with suppress(termios.error, OSError):
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        with suppress(OSError):
            os.write(terminal, _LEAVE)
        os._exit(128 + number)

    def handle(number: int, frame: FrameType | None) -> None:
        timer = threading.Timer(PATIENCE, leave, [number])
        timer.daemon = True
        timer.start()
        close()

    def watch() -> None:
        # A hang-up is not always followed by a signal: the shell between may keep it to itself.
        poller = select.poll()
        poller.register(terminal, 0)
        poller.poll()
        handle(signal.SIGHUP, None)

    for number in SIGNALS:
        signal.signal(number, handle)
    threading.Thread(target=watch, name="hang-up", daemon=True).start()

"""A terminal without a screen: a program runs in it, keys are pressed, what it shows is read."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyte

COLUMNS, ROWS = 100, 30


class Terminal:
    """A pseudo-terminal; the program is the leader of its session, as under a shell over ssh."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(self._theirs)
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), self._theirs)
        # An own session and the controlling terminal: closing our end is then a SIGHUP.
        take = lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # noqa: E731
        self.process = subprocess.Popen(
            command, env={**env, "TERM": "xterm-256color"}, start_new_session=True, preexec_fn=take, **ends
        )

    @property
    def attributes(self) -> list[Any]:
        """Of the terminal now, as termios.tcgetattr gives them."""
        return termios.tcgetattr(self._theirs)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(self._screen.display)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def read(self, seconds: float = 0.05) -> bool:
        """Take what was written in a moment; always True, so that it can stand in a condition."""
        if select.select([self._ours], [], [], seconds)[0]:
            data = os.read(self._ours, 65536)
            self.written += data
            self._stream.feed(data)
        return True

    def until(self, what: Callable[[], Any], why: str, timeout: float = 60.0) -> Any:
        """Wait until a condition holds; fails with the screen."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.read()
            if value := what():
                return value
        raise AssertionError(f"{timeout} s without {why}:\n{self.text}")

    def shows(self, text: str, timeout: float = 60.0) -> None:
        """Wait until the screen shows a text."""
        self.until(lambda: text in self.text, repr(text), timeout)

    def end(self, timeout: float = 20.0) -> int:
        """Wait for the program to end; its exit code."""
        self.until(lambda: self.process.poll() is not None, "the end of the program", timeout)
        while select.select([self._ours], [], [], 0.0)[0]:
            self.read()
        return self.process.returncode

    def hang_up(self) -> int:
        """Close our end, as a lost ssh connection does; the program's exit code."""
        os.close(self._ours)
        self._ours = -1
        return self.process.wait(20)

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for end in (self._ours, self._theirs):
            if end >= 0:
                os.close(end)

"""One child process on an asyncio loop: its output as it comes, its end, signals to it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Make the kernel send SIGTERM to the calling process when its parent is gone, even by SIGKILL."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent ended before the request was made
        os.kill(os.getpid(), signal.SIGTERM)


@dataclass(frozen=True)
class Command:
    """What to execute, resolved."""

    cmd: list[str]
    cwd: str | None
    env: dict[str, str] | None
    shell: bool = False
    emulate_tty: bool = False


class Child:
    """A running process. The callbacks get (1 or 2, data), and the return code after all output."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        command: Command,
        on_data: Callable[[int, bytes], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._on_data = on_data
        self._on_exit = on_exit
        self._readers: dict[int, int] = {}
        self._process = self._start(command)
        self._pidfd = os.pidfd_open(self._process.pid)
        for source, reader in self._readers.items():
            os.set_blocking(reader, False)
            loop.add_reader(reader, self._read, source)
        loop.add_reader(self._pidfd, self._exited)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send_signal(self, number: int) -> None:
        """Send a signal; nothing happens if the process has ended."""
        self._process.send_signal(number)

    def _start(self, command: Command) -> subprocess.Popen[bytes]:
        open_pair = pty.openpty if command.emulate_tty else os.pipe
        pairs = {1: open_pair(), 2: open_pair()}
        self._readers = {source: pair[0] for source, pair in pairs.items()}
        parent = os.getpid()
        try:
            return subprocess.Popen(
                " ".join(command.cmd) if command.shell else command.cmd,
                cwd=command.cwd,
                env=command.env,
                shell=command.shell,
                stdin=subprocess.PIPE,
                stdout=pairs[1][1],
                stderr=pairs[2][1],
                preexec_fn=lambda: die_with_parent(parent),
            )
        except Exception:
            self._close_readers()
            raise
        finally:
            for _, writer in pairs.values():
                os.close(writer)

    def _read(self, source: int) -> bool:
        """Pass on what is there; return whether there may be more."""
        try:
            data = os.read(self._readers[source], 65536)
        except BlockingIOError:
            return False
        except OSError:  # a pseudo terminal's way to say that no writer is left
            data = b""
        if data:
            self._on_data(source, data)
        else:
            self._loop.remove_reader(self._readers[source])
        return bool(data)

    def _exited(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        returncode = self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        for source in self._readers:
            while self._read(source):
                pass
        self._close_readers()
        self._on_exit(returncode)

    def _close_readers(self) -> None:
        for reader in self._readers.values():
            self._loop.remove_reader(reader)
            os.close(reader)

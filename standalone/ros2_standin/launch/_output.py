"""The output of a process, line by line, with the process's name before each line."""

from __future__ import annotations

from collections.abc import Callable

Write = Callable[[str], None]


class LineOutput:
    """Cuts what the standard output (1) and error (2) carry into lines."""

    def __init__(self, stdout: Write, stderr: Write) -> None:
        self._write = {1: stdout, 2: stderr}
        self._rest = {1: b"", 2: b""}

    def write(self, source: int, data: bytes) -> None:
        """Pass on the complete lines and keep the rest for later."""
        *lines, self._rest[source] = (self._rest[source] + data).split(b"\n")
        for line in lines:
            self._emit(source, line)

    def flush(self) -> None:
        """Pass on what no newline has ended."""
        for source, rest in self._rest.items():
            if rest:
                self._emit(source, rest)
            self._rest[source] = b""

    def _emit(self, source: int, line: bytes) -> None:
        self._write[source](line.decode(errors="replace").removesuffix("\r"))

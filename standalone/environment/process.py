"""Commands whose output goes to a log; a failure shows the end of it and says where the rest lies."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SHOWN_LINES = 30


class CommandError(RuntimeError):
    """A command failed; the message holds its last lines and the place of the full log."""


def run(
    command: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    cancelled: threading.Event | None = None,
) -> None:
    """Run a command to its end and append its output to log, line by line through on_line.

    A set `cancelled` ends the command. Raises CommandError where it exits with anything but 0.
    """
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=SHOWN_LINES)
    with log.open("a") as sink, _started(words, env, cwd) as process:
        print("$", shlex.join(words), file=sink, flush=True)
        if cancelled is not None:
            threading.Thread(target=_terminate_when, args=(process, cancelled), daemon=True).start()
        try:
            for line in process.stdout or ():
                print(line.rstrip(), file=sink, flush=True)
                tail.append(line.rstrip())
                if on_line is not None:
                    on_line(line.rstrip())
        except BaseException:
            _terminate(process)
            raise
    if process.returncode != 0:
        raise CommandError(_report(words, process.returncode, tail, log))


def _started(words: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise CommandError(f"{words[0]}: cannot be started: {error.strerror}") from error


def _terminate_when(process: subprocess.Popen[str], cancelled: threading.Event) -> None:
    while process.poll() is None:
        if cancelled.wait(0.2):
            _terminate(process)
            return


def _terminate(process: subprocess.Popen[str]) -> None:
    # The whole group: compilers and worker processes would outlive the command and hold its output open.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _report(words: Sequence[str], code: int, tail: Sequence[str], log: Path) -> str:
    text = "\n".join(f"  {line}" for line in tail)
    return f"{shlex.join(words)}\nfailed with exit code {code}; its last lines:\n{text}\nfull log: {log}"

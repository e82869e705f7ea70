"""What the tests of the `ros2` verbs share: a talker in a domain of its own, and the command beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STANDIN = Path(__file__).resolve().parents[2] / "standalone" / "ros2_standin"
TALKER = Path(__file__).parent / "talker.py"
PATIENCE = 60.0  # seconds; generous, for machines under load


def in_domain(domain: int) -> dict[str, str]:
    """The environment of everything in one ROS domain."""
    return {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONPATH": str(STANDIN), "TZ": "UTC", "COLUMNS": "120"}


def ros2(env: dict[str, str], *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    command = [sys.executable, STANDIN / "bin/ros2", *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, **options)


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


class Running:
    """A process whose output goes to a file."""

    def __init__(self, command: list[object], env: dict[str, str], log: Path) -> None:
        self._log = log
        self._file = log.open("w")
        self.process = subprocess.Popen(
            [*map(str, command)], env=env, stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT
        )

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return self._log.read_text()

    def wait_for(self, words: str, times: int = 1) -> None:
        """Wait for output."""
        until(lambda: self.text.count(words) >= times or self.process.poll() is not None, f"{words!r} in\n{self.text}")
        assert self.text.count(words) >= times, self.text

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._file.close()
        return code


@contextmanager
def running(command: list[object], env: dict[str, str], log: Path) -> Iterator[Running]:
    """A process that is gone afterwards."""
    process = Running(command, env, log)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


def verb(*arguments: object) -> list[object]:
    """The command line of a verb."""
    return [sys.executable, STANDIN / "bin/ros2", *arguments]

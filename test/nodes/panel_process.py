"""The panel as a person starts it: `ros2 run rlt_ros panel`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from scene import SPACE


class Panel:
    """A panel process, on a port of its own choice unless told. log: where it writes."""

    def __init__(self, env: Mapping[str, str], log: Path, *parameters: str) -> None:
        given = parameters if any(p.startswith("port:=") for p in parameters) else ("port:=0", *parameters)
        options = [part for parameter in given for part in ("-p", parameter)]
        command = ["ros2", "run", "rlt_ros", "panel", "--ros-args", "-r", f"__ns:={SPACE}", *options]
        self._log = log
        with log.open("w") as out:
            # A session of its own: `ros2 run` and the panel are signalled as a Ctrl-C in a terminal does.
            self.process = subprocess.Popen(
                command, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    @property
    def said(self) -> str:
        """All that it has printed."""
        return self._log.read_text()

    @property
    def url(self) -> str:
        """What it says to open, with the token; empty before that."""
        found = re.search(r"panel: open (\S+)\n", self.said)
        assert found or self.process.poll() is None, self.said
        return found[1] if found else ""

    @property
    def port(self) -> int:
        """TCP port."""
        return int(self.url.split("/")[2].rpartition(":")[2])

    @property
    def here(self) -> str:
        """The page by the loopback address, without the token."""
        return f"http://127.0.0.1:{self.port}/"

    def send(self, number: int) -> None:
        """Signal `ros2 run` and the panel, as a terminal does."""
        os.killpg(self.process.pid, number)

    def end(self, timeout: float = 30.0) -> int:
        """Wait for it to end; its exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the panel did not end within {timeout} s:\n{self.said}") from None

    def close(self) -> None:
        """End it however."""
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
            self.process.wait()

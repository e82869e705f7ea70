"""What the tests of the stand-in share: a demo package in a prefix of its own, and a running `ros2`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STANDIN = ROOT / "standalone" / "ros2_standin"
LAUNCH_FILES = Path(__file__).parent / "launch_files"
CHILD = Path(__file__).parent / "launch_child.py"
PATIENCE = 30.0  # seconds; generous, for machines under load


def add_package(prefix: Path, name: str, executables: dict[str, str]) -> Path:
    """Make a package with executables in the prefix; return its share folder."""
    index = prefix / "share/ament_index/resource_index/packages"
    share, libexec = prefix / "share" / name, prefix / "lib" / name
    for folder in (index, share, libexec):
        folder.mkdir(parents=True, exist_ok=True)
    (index / name).touch()
    for executable, text in executables.items():
        (libexec / executable).write_text(text)
        (libexec / executable).chmod(0o755)
    return share


def demo_prefix(prefix: Path) -> Path:
    """Make the package demo_pkg with the executables `talker` and `child`; return the prefix."""
    child = f'#!/bin/sh\nexec "{sys.executable}" "{CHILD}" "$@"\n'
    share = add_package(prefix, "demo_pkg", {"talker": "#!/bin/sh\nexit 0\n", "child": child})
    (share / "config").mkdir()
    (share / "config/demo.yaml").write_text((LAUNCH_FILES / "demo.yaml").read_text())
    (share / "launch").symlink_to(LAUNCH_FILES)
    return prefix


def environment(*prefixes: Path, python_path: str = str(STANDIN), log_dir: Path | None = None) -> dict[str, str]:
    """Return the environment in which the packages of the prefixes are found."""
    known = [part for part in (os.environ.get("AMENT_PREFIX_PATH"), sys.prefix) if part]
    changes = {
        "AMENT_PREFIX_PATH": os.pathsep.join([*map(str, prefixes), *known]),
        "PYTHONPATH": os.pathsep.join([python_path, str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "ROS_LOG_DIR": str(log_dir or prefixes[0] / "log"),
        "TMPDIR": str(prefixes[0]),  # parameter files stay, as with the real launch
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**os.environ, **changes}


def alive(pid: int) -> bool:
    """Return whether the process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, what: str) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


class Ros2:
    """A running `ros2` command whose output is collected."""

    def __init__(self, env: dict[str, str], *arguments: object, **popen: object) -> None:
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, STANDIN / "bin/ros2", *map(str, arguments)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **{"stdin": subprocess.DEVNULL, **popen},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.text += line.decode(errors="replace")

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that the launch has reported."""
        return [int(pid) for pid in re.findall(r"process started with pid \[(\d+)\]", self.text)]

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until the output contains the text often enough."""
        try:
            wait_until(lambda: self.text.count(text) >= times, f"{times} x {text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}; output:\n{self.text}") from None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command alone."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end; return the exit code. No process may be left."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert not [pid for pid in self.pids if alive(pid)], self.text
        return code

    def abandon(self) -> None:
        """End everything that a failed test has left."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(PATIENCE)

"""Run an executable of a package."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
from pathlib import Path

from ament_index_python.packages import get_package_prefix
from launch._child import die_with_parent

_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_SENT_BY_KERNEL = 0x80  # si_code of what a terminal sends to its whole foreground group


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--prefix", help="command to put before the executable, such as 'gdb -ex run --args'")
    parser.add_argument("package_name", help="name of the ROS package")
    parser.add_argument("executable_name", help="name of the executable")
    parser.add_argument("argv", nargs=argparse.REMAINDER, help="arguments for the executable")


def main(args: argparse.Namespace) -> int:
    """Run the executable; return its return code."""
    path = find_executable(args.package_name, args.executable_name)
    returncode = _supervise([*shlex.split(args.prefix or ""), str(path), *args.argv])
    if returncode < 0:
        print("[ros2run]:", signal.strsignal(-returncode))
    elif returncode > 0:
        print("[ros2run]: Process exited with failure", returncode)
    return returncode


def find_executable(package: str, name: str) -> Path:
    """Return the executable of the name beneath `lib/<package>`."""
    folder = Path(get_package_prefix(package), "lib", package)
    found = [path for path in sorted(folder.rglob(name)) if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise RuntimeError("No executable found")
    if len(found) > 1:
        raise RuntimeError("\n- ".join(["Multiple executables found:", *map(str, found)]))
    return found[0]


def _supervise(cmd: list[str]) -> int:
    """Run the command and pass on the signals that it has not had from the terminal."""
    parent = os.getpid()

    def in_child() -> None:
        for number in _FORWARDED:  # a script's `ros2 run ... &` inherits SIGINT ignored
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*_FORWARDED, signal.SIGCHLD})
        die_with_parent(parent)

    for number in _FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {*_FORWARDED, signal.SIGCHLD})
    process = subprocess.Popen(cmd, preexec_fn=in_child)
    while process.poll() is None:
        received = signal.sigwaitinfo({*_FORWARDED, signal.SIGCHLD})
        if received.si_signo != signal.SIGCHLD and received.si_code != _SENT_BY_KERNEL:
            process.send_signal(received.si_signo)
    return process.returncode

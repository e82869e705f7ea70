"""Builds the environment for a machine without a ROS distribution: python3 standalone/environment [--help]."""

from __future__ import annotations

import argparse
import fcntl
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from layout import Layout
from mend import MendError
from process import CommandError
from stages import Setup
from system import MachineError


@contextmanager
def alone(layout: Layout) -> Iterator[None]:
    """Hold the checkout's lock: two set-ups at once would write into one environment."""
    with layout.requirements.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("environment: waiting for another set-up of this checkout to end", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="environment", description=__doc__)
    parser.add_argument("--with-stage1", action="store_true", help="train the demo's Stage 1 beside the compiler")
    parser.add_argument("--with-browser", action="store_true", help="as root on Debian: Chromium, for tests")
    arguments = parser.parse_args()
    layout = Layout(Path(__file__).resolve().parents[2])
    # An end from outside ends the commands as well, as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with alone(layout):
            Setup(layout).run(arguments.with_stage1, arguments.with_browser)
    except (CommandError, MendError, MachineError) as error:
        print(f"environment: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("environment: interrupted; the next run continues", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

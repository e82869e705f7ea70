"""`ros2 bag` as a child process."""

from __future__ import annotations

import ctypes
import signal
import subprocess
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def start(words: Sequence[str]) -> subprocess.Popen:
    """Start a command that ends as if by Ctrl-C when this process dies, however it dies.

    In a session of its own: a Ctrl-C in the terminal must reach it once, through its parent.
    """
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        list(words), start_new_session=True, preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    )

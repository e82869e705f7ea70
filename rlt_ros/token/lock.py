"""One Stage 1 at a time for one output directory."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file of a path; wait while another process does, and say so once.

    The kernel releases the lock when its holder ends, however that comes about; the file itself may stay.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.name}.lock")
    with name.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(f"stage1: another process trains {path}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""What killed processes leave in shared memory, and who would wait for it for ever.

Fast DDS makes a file for each port of a participant. A process that is killed between making it and giving it a size
leaves an empty one, and every later participant with that port waits in its constructor until somebody removes it (with
`fastdds shm clean`): a node that starts and never comes up.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
OLD = 2.0
"""s after which an empty file is left over: whoever lives gives it a size at once."""
_PORT = re.compile(r"(fastdds|fastrtps)_port\d+")


def remove_half_made(folder: Path = FOLDER) -> list[Path]:
    """Remove empty port files that nobody is about to fill; returns them. Files of others are left alone."""
    removed = []
    for path in folder.glob("fast*_port*"):
        # Others may do the same at the same time, or own it.
        with suppress(OSError):
            if _PORT.fullmatch(path.name) and _is_left_over(path):
                path.unlink()
                removed.append(path)
    return sorted(removed)


def _is_left_over(path: Path) -> bool:
    found = path.stat()
    return found.st_size == 0 and time.time() - found.st_mtime > OLD

"""One writer at a time for one dataset."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from rlt_ros.data.lerobot.errors import DatasetError


class DirectoryLock:
    """Holds a directory until `release` or the end of the process, however that comes about; leaves no file."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise DatasetError(f"{path}: another writer has it open") from error

    def release(self) -> None:
        """Let others have it; may be called again."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

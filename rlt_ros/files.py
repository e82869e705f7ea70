"""Files and directories that are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A name beside the path to write a file or a directory to; it gets the path's name when all of it is on disk.

    After an error, Ctrl-C included, nothing is left; what a killed process left is replaced by the next one. One
    process writes a path. A file at the path is replaced; a directory there is refused (FileExistsError), because two
    renames would leave a moment without either.
    """
    if path.is_dir():
        raise FileExistsError(f"{path}: exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    remove(aside)
    try:
        yield aside
        for item in (aside, *aside.rglob("*")):
            sync(item)
        os.rename(aside, path)
    except BaseException:
        remove(aside)
        raise
    sync(path.parent)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file: whatever happens, the path holds all of it or what it held before."""
    with written_aside(path) as aside:
        aside.write_bytes(data)


def remove(path: Path) -> None:
    """Delete a file or a whole directory, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""A bag opened for reading, by the library `rosbags`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rosbags.rosbag2 import Reader

from . import metadata


def existing_bag(text: str) -> Path:
    """Path of a bag on the command line."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"Bag path '{text}' does not exist!")
    return Path(text)


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """The bag. Raises RuntimeError naming the bag and what is wrong with it."""
    if path.is_dir():
        metadata.read(path)  # its errors say what to do
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:  # a cut file shows in many ways, down to struct.error
        raise RuntimeError(
            f"{path}: cannot be opened as a bag ({type(error).__name__}: {error}); was the recorder killed? "
            f"`ros2 bag reindex` mends what it left"
        ) from error
    try:
        yield reader
    finally:
        reader.close()

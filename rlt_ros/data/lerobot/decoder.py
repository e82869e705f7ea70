"""Pictures out of a video file, by their timestamps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import av

TOLERANCE = 1e-4
"""s, how far a picture may be from the time that the table has for it, bound included; LeRobot's default."""
ROUNDING = 1e-6
"""s, added to it: times in a video are multiples of the stream's time base."""


def pictures_at(path: Path, times: Sequence[float], tolerance: float = TOLERANCE) -> Iterator[np.ndarray]:
    """The pictures of a video at rising times (s), uint8 (h, w, 3), one by one; nothing else is kept.

    Raises DatasetError naming the file and the time at which there is no picture.
    """
    with _opened(path) as container, _named(path):
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        container.seek(max(0, round((times[0] - tolerance) / stream.time_base) - 1), stream=stream)
        yield from _matched(path, container.decode(stream), times, tolerance + ROUNDING)


def picture_count(path: Path) -> int:
    """Pictures in a video file, from its index where it has one. Raises DatasetError naming an unreadable file."""
    with _opened(path) as container, _named(path):
        stream = container.streams.video[0]
        return stream.frames or sum(1 for packet in container.demux(stream) if packet.size)


def packets(path: Path, start: float, end: float) -> Iterator[tuple[float, bytes]]:
    """Time (s) and encoded bytes of the pictures from start up to, but without, end; in the order of the file."""
    with _opened(path) as container, _named(path):
        stream = container.streams.video[0]
        container.seek(max(0, round(start / stream.time_base) - 1), stream=stream)
        for packet in container.demux(stream):
            if packet.size and start - ROUNDING <= float(packet.pts * stream.time_base) < end - ROUNDING:
                yield float(packet.pts * stream.time_base), bytes(packet)


def _matched(path: Path, frames: Iterator, times: Sequence[float], tolerance: float) -> Iterator[np.ndarray]:
    wanted, before = iter(times), None
    time = next(wanted)
    for frame in frames:
        # Timestamps are float32 in the table: after an hour they are known to a quarter of a millisecond.
        allowed = tolerance + float(np.spacing(np.float32(time)))
        if frame.pts is None or frame.time < time - allowed:
            before = frame.time if frame.pts is not None else before
            continue
        if frame.time > time + allowed:
            raise DatasetError(f"{path}: no picture at {time:.4f} s; the nearest are at {before} and {frame.time} s")
        picture = frame.to_ndarray(format="rgb24")
        while time is not None and abs(frame.time - time) <= allowed:
            yield picture
            time = next(wanted, None)
        if time is None:
            return
        before = frame.time
    raise DatasetError(f"{path}: no picture at {time:.4f} s; the last is at {before} s")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[av.container.InputContainer]:
    try:
        container = av.open(str(path))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: not a video that can be read: {error}") from error
    with container:
        if not container.streams.video:
            raise DatasetError(f"{path}: no video in it")
        yield container


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except av.FFmpegError as error:
        raise DatasetError(f"{path}: damaged: {error}") from error

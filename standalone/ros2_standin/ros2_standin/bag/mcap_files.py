"""One MCAP file as it is written."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import zstandard
from mcap.writer import CompressionType, Writer

from .definitions import definition
from .metadata import File, Topic

CHUNK_BYTES = 2**20
CHUNK_SECONDS = 1.0
"""A chunk goes to the file at the latest after so long: what a killed recorder loses."""
PRESETS = {
    "none": CompressionType.NONE,
    "fastwrite": CompressionType.NONE,
    "zstd_fast": CompressionType.ZSTD,
    "zstd_small": CompressionType.ZSTD,
}


class McapFile:
    """Messages into chunks, chunks into a file. Raises OSError where the disk refuses; `abandon` is then all to do."""

    def __init__(self, path: Path, topics: list[Topic], preset: str) -> None:
        self.path = path
        self.facts = File(path.name)
        self._raw = io.FileIO(path, "x")
        self._buffered = io.BufferedWriter(self._raw)
        self._writer = Writer(self._buffered, chunk_size=CHUNK_BYTES, compression=PRESETS[preset])
        self._writer.start(profile="ros2")
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._flushed = time.monotonic()
        self._writer.flush()  # so that it is known for what it is, however early the recorder is killed
        for topic in topics:
            self.add(topic)

    @property
    def size(self) -> int:
        """Bytes in the file so far."""
        return self._buffered.tell()

    def add(self, topic: Topic) -> None:
        """Announce a topic."""
        if topic.kind not in self._schemas:
            found = definition(topic.kind)
            encoding = "ros2msg" if found else ""
            self._schemas[topic.kind] = self._writer.register_schema(topic.kind, encoding, found.encode())
        extras = {"offered_qos_profiles": topic.qos_text, "topic_type_hash": topic.digest}
        self._channels[topic.name] = self._writer.register_channel(topic.name, "cdr", self._schemas[topic.kind], extras)

    def write(self, topic: str, data: bytes, stamp: int, published: int, number: int) -> None:
        """Add a message. stamp, published: ns. number: of the publisher, 0 where it has none."""
        self._writer.add_message(self._channels[topic], stamp, data, published, number & 0xFFFFFFFF)
        self.facts.add(stamp)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Hand to the system what has waited for long enough."""
        if time.monotonic() - self._flushed > CHUNK_SECONDS:
            self._writer.flush()
            self._flushed = time.monotonic()

    def close(self, metadata: str) -> None:
        """End the file with its index. metadata: that of the bag so far, for a reader of this file alone."""
        self._writer.flush()
        self._writer.add_metadata("rosbag2", {"serialized_metadata": metadata})
        self._writer.finish()
        self._writer.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()

    def abandon(self) -> None:
        """Leave the file as it is."""
        self._raw.close()


def compress(path: Path) -> Path:
    """The file compressed as a whole, in its place; returns its new path."""
    packed = path.with_name(f"{path.name}.zstd")
    with path.open("rb") as source, packed.open("wb") as target:
        zstandard.ZstdCompressor().copy_stream(source, target)
        target.flush()
        os.fsync(target.fileno())
    path.unlink()
    return packed


def unpack(packed: Path) -> Path:
    """The opposite of `compress`."""
    path = packed.with_suffix("")
    aside = path.with_suffix(".unpacked")
    with packed.open("rb") as source, aside.open("wb") as target:
        zstandard.ZstdDecompressor().copy_stream(source, target)
    aside.replace(path)
    packed.unlink()
    return path

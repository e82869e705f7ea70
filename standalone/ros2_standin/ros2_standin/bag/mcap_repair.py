"""An MCAP file that its writer did not finish gets its index: what is whole in it can then be read.

Works in place and needs no room but for the index. Killed in between, it begins anew the next time.
"""

from __future__ import annotations

import io
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    McapRecord,
    Message,
    MessageIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.stream_reader import CRCValidationError, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC

from .metadata import NEVER, File

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
FOOTER_BYTES = 9 + 20 + len(MCAP0_MAGIC)


class NotMcap(RuntimeError):
    """The file is none of this format, or of a kind of it that is not repaired here."""


@dataclass
class Found:
    """What is whole in a file. cut: bytes behind it. damaged: chunks that are whole in length only.
    packed: its messages are compressed, each by itself.
    """

    facts: File
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkIndex] = field(default_factory=list)
    chunk_counts: list[Counter[int]] = field(default_factory=list)
    end: int = 0
    cut: int = 0
    damaged: int = 0
    packed: bool = False

    @property
    def counts(self) -> Counter[str]:
        """Messages by topic."""
        total: Counter[str] = Counter()
        for counts in self.chunk_counts:
            total.update({self.channels[channel].topic: count for channel, count in counts.items()})
        return total

    def drop_last_chunk(self) -> None:
        """Forget the newest chunk, to make room."""
        index = self.chunks.pop()
        self.chunk_counts.pop()
        self.cut += self.end - index.chunk_start_offset
        self.end = index.chunk_start_offset
        self.facts = _facts(self.facts.path, self.chunks, self.chunk_counts)


def finished(path: Path) -> bool:
    """Whether the file ends as it should."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) < len(MCAP0_MAGIC) + FOOTER_BYTES:
            return False
        file.seek(-FOOTER_BYTES, os.SEEK_END)
        tail = file.read()
    return tail[0] == Opcode.FOOTER and tail.endswith(MCAP0_MAGIC)


def repair(path: Path, make_room: bool = False, drop: int = 0) -> Found:
    """Cut off what is torn and write the index; returns what is there now. make_room: on a full disk, by dropping the
    newest chunks. drop: so many of them in any case. Raises NotMcap, OSError.
    """
    with path.open("r+b", buffering=0) as file:  # what a full disk refuses must not wait in a buffer for the next try
        found = scan(file, path)
        for _ in range(min(drop, len(found.chunks))):
            found.drop_last_chunk()
        while True:
            try:
                _finish(file, found)
                return found
            except OSError:
                if not (make_room and found.chunks):
                    raise
                found.drop_last_chunk()


def scan(file: BinaryIO, path: Path) -> Found:
    """Read a file from its beginning up to where it is torn. Raises NotMcap."""
    file.seek(0)
    if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
        raise NotMcap(f"{path}: no MCAP file")
    found = Found(File(path.name), end=file.tell())
    for opcode, start, payload in _records(file):
        if opcode in (Opcode.DATA_END, 0):
            break
        if opcode == Opcode.CHUNK:
            _take_chunk(found, payload, start)
        elif opcode == Opcode.MESSAGE_INDEX and found.chunks:
            _take_index(found, payload, start)
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            _register(found, _parsed(Schema if opcode == Opcode.SCHEMA else Channel, payload))
        elif opcode == Opcode.MESSAGE:
            raise NotMcap(f"{path}: messages outside of chunks (preset fastwrite) are not repaired here")
        found.end = start + 9 + len(payload)
    found.cut = file.seek(0, os.SEEK_END) - found.end
    found.facts = _facts(path.name, found.chunks, found.chunk_counts)
    return found


def _records(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Opcode, offset and payload of every record that is there in full."""
    size = os.fstat(file.fileno()).st_size
    start = file.tell()
    while start + 9 <= size:
        file.seek(start)
        head = file.read(9)
        length = int.from_bytes(head[1:], "little")
        if start + 9 + length > size:
            return
        yield head[0], start, file.read(length)
        start += 9 + length


def _parsed(kind: type, payload: bytes) -> McapRecord:
    return kind.read(ReadDataStream(io.BytesIO(payload)))


def _register(found: Found, record: McapRecord) -> None:
    if isinstance(record, Schema):
        found.schemas[record.id] = record
    elif isinstance(record, Channel):
        found.channels[record.id] = record


def _take_chunk(found: Found, payload: bytes, start: int) -> None:
    try:
        chunk = _parsed(Chunk, payload)
        counts = _look_into(found, chunk)
    except (CRCValidationError, McapError, ValueError, OSError) as error:
        found.damaged += 1
        print(f"damaged chunk at byte {start}: {type(error).__name__}: {error}")
        return
    found.chunks.append(
        ChunkIndex(
            chunk_length=9 + len(payload),
            chunk_start_offset=start,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            message_end_time=chunk.message_end_time,
            message_index_length=0,
            message_index_offsets={},
            message_start_time=chunk.message_start_time,
            uncompressed_size=chunk.uncompressed_size,
        )
    )
    found.chunk_counts.append(counts)


def _look_into(found: Found, chunk: Chunk) -> Counter[int]:
    return Counter({channel: len(entries) for channel, entries in _entries(found, chunk).items()})


def _entries(found: Found, chunk: Chunk) -> dict[int, list[tuple[int, int]]]:
    """By channel, stamp and offset in the chunk of every message."""
    stream, length = get_chunk_data_stream(chunk, validate_crc=True)
    entries: dict[int, list[tuple[int, int]]] = defaultdict(list)
    while stream.count < length:
        offset, opcode, size = stream.count, stream.read1(), stream.read8()
        payload = stream.read(size)
        if opcode == Opcode.MESSAGE:
            message = Message.read(ReadDataStream(io.BytesIO(payload[:22] + b"\0")), 23)
            found.packed |= payload[22:26] == ZSTD_MAGIC
            entries[message.channel_id].append((message.log_time, offset))
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            _register(found, _parsed(Schema if opcode == Opcode.SCHEMA else Channel, payload))
    return entries


def _take_index(found: Found, payload: bytes, start: int) -> None:
    index, chunk = _parsed(MessageIndex, payload), found.chunks[-1]
    chunk.message_index_offsets[index.channel_id] = start
    chunk.message_index_length = start + 9 + len(payload) - chunk.chunk_start_offset - chunk.chunk_length


def _facts(name: str, chunks: list[ChunkIndex], counts: list[Counter[int]]) -> File:
    filled = [chunk for chunk, count in zip(chunks, counts, strict=True) if count.total()]
    return File(
        name,
        min((chunk.message_start_time for chunk in filled), default=NEVER),
        max((chunk.message_end_time for chunk in filled), default=0),
        sum(count.total() for count in counts),
    )


def _finish(file: BinaryIO, found: Found) -> None:
    os.ftruncate(file.fileno(), found.end)
    file.seek(found.end)
    _complete_last_index(file, found)
    end = RecordBuilder()
    DataEnd(0).write(end)
    _write(file, end.end())
    _write(file, _summary(found, file.tell()))
    os.fsync(file.fileno())


def _write(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _complete_last_index(file: BinaryIO, found: Found) -> None:
    """Write what the newest chunk lacks of its index of messages."""
    if not found.chunks or set(found.chunks[-1].message_index_offsets) == set(found.chunk_counts[-1]):
        return
    index = found.chunks[-1]
    file.seek(index.chunk_start_offset + 9)
    chunk = _parsed(Chunk, file.read(index.chunk_length - 9))
    place = index.chunk_start_offset + index.chunk_length
    os.ftruncate(file.fileno(), place)
    file.seek(place)
    index.message_index_offsets.clear()
    for channel, entries in _entries(found, chunk).items():
        index.message_index_offsets[channel] = file.tell()
        builder = RecordBuilder()
        MessageIndex(channel, entries).write(builder)
        _write(file, builder.end())
    found.end = file.tell()
    index.message_index_length = found.end - place


def _summary(found: Found, start: int) -> bytes:
    """The summary section, the footer and the magic at the end."""
    groups = {
        Opcode.SCHEMA: list(found.schemas.values()),
        Opcode.CHANNEL: list(found.channels.values()),
        Opcode.STATISTICS: [_statistics(found)],
        Opcode.CHUNK_INDEX: found.chunks,
    }
    builder, offsets = RecordBuilder(), []
    for opcode, records in groups.items():
        place = builder.count
        for record in records:
            record.write(builder)
        offsets.append(SummaryOffset(opcode, builder.count - place, start + place))
    offset_start = start + builder.count
    for offset in offsets:
        offset.write(builder)
    summary = builder.end()
    Footer(start, offset_start, 0).write(builder)
    checked = zlib.crc32(builder.end()[:-4], zlib.crc32(summary))
    Footer(start, offset_start, checked).write(builder)
    return summary + builder.end() + MCAP0_MAGIC


def _statistics(found: Found) -> Statistics:
    total: Counter[int] = Counter()
    for counts in found.chunk_counts:
        total.update(counts)
    facts = found.facts
    return Statistics(
        attachment_count=0,
        channel_count=len(found.channels),
        channel_message_counts=dict(total),
        chunk_count=len(found.chunks),
        message_count=facts.count,
        message_end_time=facts.end,
        message_start_time=facts.start if facts.count else 0,
        metadata_count=0,
        schema_count=len(found.schemas),
    )

"""Every received row on disk, in the order of receipt: what is acknowledged is here.

Segments `000001.rlt`, `000002.rlt`, .. hold records: length (u32, little-endian), CRC-32 (u32), payload (`codec`).
docs/records.md shows how to read them without this package.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from rlt_ros.rl.codec import Entry, Packed, encode

HEADER = struct.Struct("<II")
SEGMENT_BYTES = 64 * 2**20
_log = logging.getLogger(__name__)


class JournalError(RuntimeError):
    """The journal is damaged or cannot be written; names file, place and reason."""


class Journal:
    """Append-only. One process and one thread write it.

    Opening it cuts off what a crash left of the last record, with a warning. Raises JournalError where anything else is
    damaged: rows that were acknowledged would be missing.
    """

    def __init__(self, directory: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._segment_bytes = directory, segment_bytes
        segments = self.segments()
        if segments:
            _cut_torn_tail(segments[-1])
        self._path = segments[-1] if segments else self._segment(1)
        self._file = self._open(self._path)
        self._good = os.fstat(self._file).st_size

    def segments(self) -> list[Path]:
        """The files in order."""
        return _segments(self._directory)

    def __iter__(self) -> Iterator[Entry]:
        """Everything in the journal, in order. Raises JournalError naming file and offset of a damaged record."""
        return (packed.entry() for packed in self.packed())

    def packed(self) -> Iterator[Packed]:
        """The same, not yet unpacked. Most of the time that reading takes goes into that."""
        for path in self.segments():
            yield from map(Packed, _payloads(path))

    def append(self, entry: Entry) -> None:
        """Write an entry, safe after `flush`. Raises JournalError if the disk refuses; the file is then as before."""
        payload = encode(entry)
        record = HEADER.pack(len(payload), zlib.crc32(payload)) + payload
        if self._good and self._good + len(record) > self._segment_bytes:
            self._next_segment()
        try:
            _write(self._file, record)
        except OSError as error:
            os.ftruncate(self._file, self._good)
            raise JournalError(f"{self._path}: row not written at byte {self._good}: {error.strerror}") from error
        self._good += len(record)

    def flush(self) -> None:
        """Wait until everything appended is on the disk. Raises JournalError if it cannot be known to be."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise JournalError(f"{self._path}: rows may not be on the disk: {error.strerror}") from error

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        os.close(self._file)

    def _segment(self, number: int) -> Path:
        return self._directory / f"{number:06d}.rlt"

    def _next_segment(self) -> None:
        path = self._segment(int(self._path.stem) + 1)
        file = self._open(path)
        self.close()
        self._path, self._file, self._good = path, file, 0

    def _open(self, path: Path) -> int:
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            directory = os.open(self._directory, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
        except OSError as error:
            raise JournalError(f"{path}: cannot be opened: {error.strerror}") from error
        return file


def read_journal(directory: Path) -> Iterator[Packed]:
    """Everything in a journal that another process may be writing; nothing is changed, and an unfinished last record is
    left out. Raises JournalError if there is no journal or if it is damaged.
    """
    segments = _segments(directory)
    if not segments:
        raise JournalError(f"{directory}: no journal here; expected segments such as 000001.rlt")
    for path in segments[:-1]:
        yield from map(Packed, _payloads(path))
    data, end = _sound_part(segments[-1])
    if end < len(data):
        _log.warning("%s: leaving out %d bytes of an unfinished record", segments[-1], len(data) - end)
    yield from map(Packed, _records(data[:end], segments[-1]))


def _segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("[0-9]*.rlt"))


def _write(file: int, record: bytes) -> None:
    view = memoryview(record)
    while view:
        view = view[os.write(file, view) :]


def _payloads(path: Path) -> Iterator[bytes]:
    """Payload of every record. Raises JournalError at the first damaged one."""
    return _records(path.read_bytes(), path)


def _records(data: bytes, path: Path) -> Iterator[bytes]:
    offset = 0
    while offset < len(data):
        payload = _payload(data, offset)
        if payload is None:
            raise JournalError(f"{path}: damaged record at byte {offset} of {len(data)}")
        yield payload
        offset += HEADER.size + len(payload)


def _payload(data: bytes, offset: int) -> bytes | None:
    """Payload of the whole, undamaged record at an offset; None if there is none. An empty record is damage: after a
    power cut a file may end in zeros, and the checksum of nothing is zero.
    """
    if offset + HEADER.size > len(data):
        return None
    length, checksum = HEADER.unpack_from(data, offset)
    payload = data[offset + HEADER.size : offset + HEADER.size + length]
    return payload if length and len(payload) == length and zlib.crc32(payload) == checksum else None


def _sound_part(path: Path) -> tuple[bytes, int]:
    """A segment's bytes and where its whole records end. Raises JournalError if others follow behind that."""
    data, end = path.read_bytes(), 0
    while (payload := _payload(data, end)) is not None:
        end += HEADER.size + len(payload)
    if end < len(data) and _goes_on(data, end):
        raise JournalError(f"{path}: damaged record at byte {end} of {len(data)}, with whole ones after it")
    return data, end


def _cut_torn_tail(path: Path) -> None:
    data, end = _sound_part(path)
    if end < len(data):
        _log.warning("%s: cutting off %d bytes of an unfinished record at byte %d", path, len(data) - end, end)
        os.truncate(path, end)


def _goes_on(data: bytes, damaged: int) -> bool:
    """Whether a whole record follows somewhere behind a damaged one: then it is no torn tail. Every payload starts with
    the length of its JSON header (8 bytes) and the brace of it.
    """
    before_brace = HEADER.size + 8
    brace = data.find(b'{"', damaged + before_brace + 1)
    while brace >= 0:
        if _payload(data, brace - before_brace) is not None:
            return True
        brace = data.find(b'{"', brace + 1)
    return False

"""A bag as it is written: its files one after another, its metadata at the end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from . import metadata
from .mcap_files import McapFile, compress
from .mcap_repair import repair
from .metadata import File, Topic


@dataclass(frozen=True)
class Storage:
    """How a bag is written. size (bytes), seconds: of a file at most, 0 for no limit. mode: none, file, message."""

    size: int = 0
    seconds: int = 0
    mode: str = "none"
    preset: str = "none"
    custom: Mapping[str, str] = field(default_factory=dict)


class BagWriter:
    """Writes a directory that must not exist. Only one thread may use it. Raises OSError where the disk refuses, after
    which `close` saves what was written before.
    """

    def __init__(self, folder: Path, storage: Storage) -> None:
        folder.mkdir(parents=True)
        self._folder, self._storage = folder, storage
        self._topics: dict[str, Topic] = {}
        self._files: list[File] = []
        self._numbers = itertools.count()
        self._failed = False
        self._file: McapFile | None = self._next_file()

    @property
    def count(self) -> int:
        """Messages in the bag."""
        return sum(topic.count for topic in self._topics.values())

    def add_topic(self, topic: Topic) -> None:
        """Announce a topic."""
        self._topics[topic.name] = topic
        if self._file is not None:
            self._file.add(topic)

    def write(self, name: str, data: bytes, stamp: int, published: int = 0, number: int = 0) -> None:
        """Add a message of an announced topic; ns."""
        if self._storage.mode == "message":
            data = zstandard.compress(data)
        with self._failing():
            if self._file is not None and self._is_full(self._file, stamp):
                self._end_file()
            if self._file is None:
                self._file = self._next_file()
            self._file.write(name, data, stamp, published, number)
        self._topics[name].count += 1

    def idle(self) -> None:
        """No message came for a moment."""
        with self._failing():
            if self._file is not None:
                self._file.flush_if_due()

    def close(self) -> int:
        """End the last file and write the metadata; returns how many messages the disk did not take after all. Raises
        OSError if there is no room even for that.
        """
        taken = self.count
        if not self._failed:
            try:
                self._end_file()
            except OSError:
                self._failed = True
        if self._failed and self._file is not None:
            self._file.abandon()
            self._files.append(self._file.facts)
            self._mend(drop=0)
        self._write_metadata()
        return taken - self.count

    def _write_metadata(self) -> None:
        while True:
            try:
                metadata.write(self._folder, self._text())
                return
            except OSError:
                if not (self._files and self._files[-1].count and self._storage.mode != "file"):
                    raise
                self._mend(drop=1)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._failed = True
            raise

    def _mend(self, drop: int) -> None:
        """The disk has no room for all: the last file ends where a chunk does. drop: so many of those on the disk."""
        last = self._files[-1]
        found = repair(self._folder / last.path, make_room=True, drop=drop)
        for name, topic in self._topics.items():
            topic.count = self._before.get(name, 0) + found.counts[name]
        self._files[-1] = found.facts

    def _is_full(self, file: McapFile, stamp: int) -> bool:
        storage = self._storage
        if not file.facts.count:
            return False
        too_long = bool(storage.seconds) and stamp - file.facts.start >= storage.seconds * 1_000_000_000
        return too_long or bool(storage.size and file.size >= storage.size)

    def _next_file(self) -> McapFile:
        self._before = {name: topic.count for name, topic in self._topics.items()}
        path = self._folder / f"{self._folder.name}_{next(self._numbers)}.mcap"
        return McapFile(path, list(self._topics.values()), self._storage.preset)

    def _end_file(self) -> None:
        if self._file is None:
            return
        self._file.close(self._text(self._file.facts))
        ended, self._file = self._file, None
        if self._storage.mode == "file":
            ended.facts.path = compress(ended.path).name
        self._files.append(ended.facts)

    def _text(self, *more: File) -> str:
        mode = "" if self._storage.mode == "none" else self._storage.mode
        compression = (mode.upper(), "zstd" if mode else "")
        return metadata.text(list(self._topics.values()), [*self._files, *more], compression, self._storage.custom)

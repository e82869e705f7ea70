"""A bag opened for reading: its topics, the stamps of its messages, the messages themselves."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from rlt_ros.data.bags.definitions import typestore
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.extras import highlevel
from rlt_ros.data.bags.upgrade import Upgrade

NANOSECONDS = 1_000_000_000
_KILLED = "was the recorder killed? `ros2 bag reindex` rebuilds what a killed recorder left out"


@dataclass(frozen=True)
class Raw:
    """One message as it is in the bag. receipt: ns, when it was recorded. number: of this topic, from 0."""

    topic: str
    kind: str
    receipt: int
    number: int
    data: bytes


class Bag:
    """A rosbag2 directory, or a single .mcap or .db3 file; a context manager.

    Message definitions are those in the bag; where it has none, the standard ones and this package's. Raises BagError
    where it cannot be opened or read, with the reason.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = _open(path)
        self._upgrade = Upgrade(self.definitions)
        self.kinds = {connection.topic: connection.msgtype for connection in self._reader.connections}

    @property
    def counts(self) -> dict[str, int]:
        """Messages of each topic, as the bag states them."""
        total: Counter[str] = Counter()
        for connection in self._reader.connections:
            total[connection.topic] += connection.msgcount
        return dict(total)

    @property
    def definitions(self) -> Mapping[str, Any]:
        """By type, the definitions that its messages are read with."""
        return self._reader.typestore.fielddefs

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._reader.close()

    def require(self, topic: str, *kinds: str) -> str:
        """The type of a topic. Raises BagError if the bag lacks it or it has none of these types."""
        if topic not in self.kinds:
            raise BagError(f"{self.path}: no topic {topic!r}; there are {', '.join(sorted(self.kinds)) or 'none'}")
        if kinds and self.kinds[topic] not in kinds:
            raise BagError(f"{self.path}: topic {topic} is of type {self.kinds[topic]}; expected {' or '.join(kinds)}")
        return self.kinds[topic]

    def topics_of(self, kind: str) -> list[str]:
        """Topics of a message type."""
        return sorted(topic for topic, found in self.kinds.items() if found == kind)

    def raw(self, topics: Collection[str]) -> Iterator[Raw]:
        """Messages of some topics in the order of their receipt."""
        connections = [c for c in self._reader.connections if c.topic in topics]
        counts = dict.fromkeys(topics, 0)
        if not connections:
            return
        try:
            for connection, receipt, data in self._reader.messages(connections=connections):
                topic = connection.topic
                yield Raw(topic, connection.msgtype, receipt, counts[topic], bytes(data))
                counts[topic] += 1
        except BagError:
            raise
        except Exception as error:  # the library lets errors of its compression and of struct through
            raise BagError(f"{self.path}: ends in a damaged place ({error}); {_KILLED}") from error
        self._check_counts(counts)

    def _check_counts(self, counts: dict[str, int]) -> None:
        # Records of nothing but zeros are skipped by a reader of MCAP, and everything behind them with it.
        stated = Counter(self.counts)
        for topic, count in counts.items():
            if count != stated[topic]:
                raise BagError(f"{self.path}: {count} messages of {topic} can be read; the bag states {stated[topic]}")

    def message(self, raw: Raw) -> Any:
        """The message, with numpy arrays for its arrays; an older version of this package as of today. Raises
        BagError where bytes and definition do not fit, or an older message cannot be converted.
        """
        try:
            return self._upgrade(raw.kind, self._reader.deserialize(raw.data, raw.kind))
        except BagError as error:
            raise BagError(f"{self.path}: {error}") from error
        except Exception as error:
            what = f"message {raw.number} of {raw.topic} ({raw.kind})"
            raise BagError(f"{self.path}: {what} cannot be read: {type(error).__name__}: {error}") from error

    def stamped(self, topic: str) -> bool:
        """Whether the messages of a topic begin with a header."""
        fields = self._reader.typestore.fielddefs[self.kinds[topic]][1]
        return bool(fields) and fields[0][0] == "header" and fields[0][1][1] == "std_msgs/msg/Header"


def header_stamp(raw: Raw) -> int:
    """Stamp of a message that begins with a header, ns, without reading the rest."""
    if len(raw.data) < 12:
        raise BagError(f"message {raw.number} of {raw.topic} has {len(raw.data)} bytes; too few for a header")
    order = "<" if raw.data[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(f"{order}iI", raw.data, 4)
    return seconds * NANOSECONDS + nanoseconds


def _open(path: Path) -> Any:
    if not path.exists():
        raise BagError(f"{path}: no such file or directory")
    if path.is_dir() and not (path / "metadata.yaml").exists():
        raise BagError(f"{path}: no metadata.yaml in it: is it a bag, and {_KILLED}")
    try:
        reader = highlevel.AnyReader([path], default_typestore=typestore())
        reader.open()
    except Exception as error:  # a cut file shows in many ways, down to struct.error
        raise BagError(f"{path}: cannot be opened as a bag ({type(error).__name__}: {error}); {_KILLED}") from error
    return reader

"""What a bag lacks, by the numbers that messages carry or the rates of streams without them (field report B33)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlt_ros.data.bags.sequence import NUMBERED, Sequence

STEP, CHUNK = "rlt_ros/msg/ExecutedStep", "rlt_ros/msg/ActionChunk"
"""A step names the chunk that it came from: a chunk of which there are steps was published."""
SAMPLED = ("sensor_msgs/msg/Image", "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped")
"""Types of streams at a steady rate. What they lack is estimated from the intervals of their stamps."""
PAUSE = 1.0
"""s; a longer interval in such a stream is a pause and no loss."""


@dataclass(frozen=True)
class TopicCount:
    """lost: messages that were published and are not in the bag, None where nothing tells. exact: False: estimated."""

    topic: str
    messages: int
    lost: int | None = None
    exact: bool = True
    by: str = ""


class Counting:
    """Counts the messages of a bag as they are read. Order does not matter, and one that was sent again counts once."""

    def __init__(self) -> None:
        self._messages: dict[str, int] = defaultdict(int)
        self._numbers: dict[str, dict[str, Sequence]] = defaultdict(lambda: defaultdict(Sequence))
        self._stamps: dict[str, list[int]] = defaultdict(list)
        self._by: dict[str, str] = {}
        self._named: dict[str, set[int]] = defaultdict(set)
        self._chunks: dict[str, set[int]] = defaultdict(set)

    @staticmethod
    def reads(kind: str) -> bool:
        """Whether messages of a type have to be read and not just counted."""
        return kind in NUMBERED or kind in SAMPLED or kind == CHUNK

    def count(self, topic: str, messages: int) -> None:
        """Add messages that are not read."""
        self._messages[topic] += messages

    def add(self, topic: str, kind: str, message: Any) -> None:
        """Add a message of a type that is read."""
        self._messages[topic] += 1
        if kind == CHUNK:
            self._chunks[topic].add(int(message.features_id))
        elif kind in NUMBERED:
            self._by[topic] = NUMBERED[kind]
            number = int(getattr(message, NUMBERED[kind]))
            self._numbers[topic][getattr(message, "stream", "")].add(number, _stamp(message))
            if kind == STEP:
                self._named[topic.rpartition("/")[0]].add(int(message.chunk_id))
        else:
            self._stamps[topic].append(_stamp(message))

    def table(self, published: Mapping[str, int] | None = None) -> list[TopicCount]:
        """What is there and what is missing, by topic. published: rows that a topic is known to have carried."""
        return [self._topic(topic, (published or {}).get(topic)) for topic in sorted(self._messages)]

    def _topic(self, topic: str, published: int | None) -> TopicCount:
        messages = self._messages[topic]
        if topic in self._numbers:
            streams = self._numbers[topic]
            lost = sum(numbers.lost(from_one=bool(stream)) for stream, numbers in streams.items())
            if published is not None:
                lost = max(lost, published - sum(map(len, streams.values())))
            spans = ", ".join(numbers.spans for numbers in streams.values())
            return TopicCount(topic, messages, lost, True, f"{self._by[topic]} {spans}")
        if topic in self._chunks:
            named = self._named[topic.rpartition("/")[0]] - {0}
            return TopicCount(topic, messages, len(named - self._chunks[topic]), True, "chunk_id of executed steps")
        if len(self._stamps[topic]) > 2:
            lost, rate = _gaps(self._stamps[topic])
            return TopicCount(topic, messages, lost, False, f"stamps at {rate:.1f} Hz")
        return TopicCount(topic, messages)


def _stamp(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _gaps(stamps: list[int]) -> tuple[int, float]:
    """Messages that steady intervals would have held, and their rate, Hz."""
    intervals = np.diff(np.unique(np.array(stamps, dtype=np.int64))) / 1e9
    if not len(intervals):
        return 0, 0.0
    usual = float(np.median(intervals))
    wide = intervals[(intervals > 1.5 * usual) & (intervals < PAUSE)]
    return int((np.round(wide / usual) - 1).sum()), 1.0 / usual


def text(table: list[TopicCount]) -> str:
    """The table as it is shown after a run."""
    rows = [("topic", "messages", "lost", "told by")]
    rows += [(c.topic, str(c.messages), _lost(c), c.by or "nothing: not numbered") for c in table]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in rows)


def _lost(count: TopicCount) -> str:
    return "-" if count.lost is None else f"{'' if count.exact else '~'}{count.lost}"

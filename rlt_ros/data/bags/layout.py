"""What a frame is made of: the one place that differs between this package's topics and any others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rlt_ros.data.bags.bag import Bag, Raw
from rlt_ros.data.bags.plan import Episode, Segment
from rlt_ros.data.bags.timeline import Timeline
from rlt_ros.data.lerobot.features import Features

Values = Mapping[str, Any]
"""By topic: what `Layout.read` has made of a message."""


class Layout(Protocol):
    """Topics to frames.

    topics: those whose latest messages make a frame. stamp_columns: column for the raw stamps of a topic. watched:
    further topics, which say where episodes begin and end. pace: the topic that the grid follows. following: topics of
    which the sample within a period after that of `pace` is taken. max_age: s, the limit where none is asked for.
    receipt: time is when a message was recorded, not the stamp in its header. rate: Hz, the only one at which its
    frames keep their meaning, 0 for any.
    """

    topics: tuple[str, ...]
    stamp_columns: dict[str, str]
    watched: tuple[str, ...]
    following: frozenset[str]
    pace: str
    max_age: float
    receipt: bool
    rate: float

    def watch(self, bag: Bag, raw: Raw) -> None:
        """A message of any of the topics, once, in the order of receipt."""

    def segments(self, timelines: Mapping[str, Timeline]) -> list[Segment]:
        """The episodes, after every message was watched."""

    def faults(self, episode: Episode, timelines: Mapping[str, Timeline]) -> list[str]:
        """What else is wrong with an episode, one sentence each."""

    def read(self, bag: Bag, raw: Raw) -> Any:
        """What a frame needs of a message."""

    def features(self, values: Values) -> Features:
        """Features of frames like this one."""

    def frame(self, values: Values) -> dict[str, Any]:
        """A frame."""

    def last(self, success: bool | None) -> dict[str, Any]:
        """What is known of an episode's last frame by how it ended."""

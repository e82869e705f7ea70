"""Frames from any topics, by a YAML that names them."""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.bags.bag import Bag, Raw
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.layout import Values
from rlt_ros.data.bags.plan import Episode, Segment
from rlt_ros.data.bags.timeline import Timeline
from rlt_ros.data.bags.values import COMPRESSED, IMAGE, numbers, picture
from rlt_ros.data.images import square
from rlt_ros.strict import ConfigError, build, load

TIMES = ("header", "receipt")


@dataclass(frozen=True)
class Part:
    """Where a feature, or a part of a vector, comes from. fields: paths of numbers; none for a picture."""

    topic: str
    fields: tuple[str, ...] = ()
    size: int = 0  # pixels, side of the centre square that a picture is cut and scaled to; 0: as it is
    then: bool = False  # the latest sample within a period after that of `pace`: what was commanded on what was seen


@dataclass(frozen=True)
class SplitBy:
    """An integer field of a topic; each stretch of one value that is not 0 becomes an episode."""

    topic: str = ""  # empty: the bag is one episode
    field: str = ""


@dataclass(frozen=True)
class MappingFile:
    """The YAML: features by name, each one part or a list of parts that are joined."""

    features: dict[str, Any]
    time: str = "header"  # header: stamp in the message; receipt: when it was recorded
    max_age: float = 0.2  # s, a sample as old as that is a fault
    pace: str = ""  # topic that the grid follows; empty: the first one without `then`
    storage: str = "video"  # of pictures: video or image
    episodes: SplitBy = SplitBy()

    def __post_init__(self) -> None:
        if self.time not in TIMES:
            raise ValueError(f"time is {self.time!r}; expected one of {', '.join(TIMES)}")
        if not self.features:
            raise ValueError("features is empty")


def load_mapping(path: Path) -> tuple[MappingFile, dict[str, list[Part]]]:
    """The file and its features as parts. Raises ConfigError naming file, key and value."""
    content = load(MappingFile, path)
    parts = {}
    for name, given in content.features.items():
        items = given if isinstance(given, list) else [given]
        if not items or not all(isinstance(item, Table) for item in items):
            raise ConfigError(f"{path}.features.{name}: expected a mapping or a list of mappings, found {given!r}")
        parts[name] = [build(Part, item, f"{path}.features.{name}") for item in items]
    return content, parts


class MappedTopics:
    """Frames as a mapping says; without its `episodes` the time in which all topics have samples is one episode."""

    rate = 0.0

    def __init__(self, bag: Bag, path: Path) -> None:
        self._file, self._features = load_mapping(path)
        self._pictures = {name for name, parts in self._features.items() if self._is_picture(bag, name, parts)}
        self.topics = tuple(dict.fromkeys(part.topic for parts in self._features.values() for part in parts))
        self.stamp_columns = {topic: f"stamp.{topic.strip('/').replace('/', '.')}" for topic in self.topics}
        self.following = _following(path, self._features)
        seen = [topic for topic in self.topics if topic not in self.following]
        self.pace = self._file.pace or next(iter(seen), "")
        if self.pace not in seen:
            raise BagError(f"{path}: pace is {self.pace!r}; expected one of {', '.join(seen)} (without then: true)")
        split = self._file.episodes
        if split.topic:
            bag.require(split.topic)
        self.watched = () if not split.topic or split.topic in self.topics else (split.topic,)
        self.max_age, self.receipt = self._file.max_age, self._file.time == "receipt"
        self._marks: list[tuple[int, int]] = []

    def _is_picture(self, bag: Bag, name: str, parts: list[Part]) -> bool:
        kinds = [bag.require(part.topic) for part in parts]
        pictures = [kind in (IMAGE, COMPRESSED) for kind in kinds]
        if any(pictures) and (len(parts) > 1 or parts[0].fields):
            raise BagError(f"feature {name}: a picture is one part without fields; {parts[0].topic} is of {kinds[0]}")
        for part, kind in zip(parts, kinds):
            if not part.fields and kind not in (IMAGE, COMPRESSED):
                raise BagError(f"feature {name}: {part.topic} is of {kind}, no picture; name its fields")
        return all(pictures)

    def watch(self, bag: Bag, raw: Raw) -> None:
        """Remember the value that says which episode it is."""
        split = self._file.episodes
        if split.topic and raw.topic == split.topic:
            [value] = numbers(bag.message(raw), split.field, f"message {raw.number} of {raw.topic}")
            self._marks.append((raw.number, int(value)))

    def segments(self, timelines: Table[str, Timeline]) -> list[Segment]:
        """Stretches of one value, or the whole bag."""
        lines = [timelines[topic] for topic in self.topics]
        start = max(int(line.stamps[0]) for line in lines)
        end = min(int(line.stamps[-1]) for line in lines) + 1
        if not self._file.episodes.topic:
            return [Segment("run", start, end)]
        timeline = timelines[self._file.episodes.topic]
        stamps = dict(zip(timeline.numbers.tolist(), timeline.stamps.tolist()))
        marks = [(stamps[number], value) for number, value in self._marks if number in stamps]
        return _stretches(marks, end)

    def faults(self, episode: Episode, timelines: Table[str, Timeline]) -> list[str]:
        """None beyond ages: nothing is known of how these topics belong together."""
        return []

    def read(self, bag: Bag, raw: Raw) -> dict[str, Any]:
        """By feature and place in it: the arrays that come from a message."""
        message, where = bag.message(raw), f"message {raw.number} of {raw.topic}"
        found = {}
        for name, parts in self._features.items():
            for place, part in enumerate(parts):
                if part.topic == raw.topic:
                    found[name, place] = self._value(name, part, message, where)
        return found

    def _value(self, name: str, part: Part, message: Any, where: str) -> np.ndarray:
        if name in self._pictures:
            rgb = picture(message, where)
            return square(rgb, part.size) if part.size else rgb
        values = np.concatenate([numbers(message, field, where) for field in part.fields]).astype(np.float32)
        if not np.isfinite(values).all():
            raise BagError(f"{where}: {', '.join(part.fields)} is not finite: {values.tolist()}")
        return values

    def features(self, values: Values) -> dict[str, Any]:
        """One feature a name: float32 vectors, and pictures."""
        return {name: self._feature(name, value) for name, value in self.frame(values).items()}

    def _feature(self, name: str, value: np.ndarray) -> dict[str, Any]:
        picture_names = ["height", "width", "channels"]
        if name in self._pictures:
            return {"dtype": self._file.storage, "shape": list(value.shape), "names": picture_names}
        return {"dtype": "float32", "shape": list(value.shape), "names": self._names(name, value.shape[0])}

    def _names(self, name: str, size: int) -> list[str]:
        fields = [field for part in self._features[name] for field in part.fields]
        return fields if len(fields) == size else [f"{name}.{i}" for i in range(size)]

    def frame(self, values: Values) -> dict[str, Any]:
        """A frame: vectors joined from their parts."""
        frame = {}
        for name, parts in self._features.items():
            arrays = [values[part.topic][name, place] for place, part in enumerate(parts)]
            frame[name] = arrays[0] if name in self._pictures else np.concatenate(arrays)
        return frame

    def last(self, success: bool | None) -> dict[str, Any]:
        """Nothing: how an episode ended is not in the mapping."""
        return {}


def _following(path: Path, features: Table[str, list[Part]]) -> frozenset[str]:
    every = [part for parts in features.values() for part in parts]
    following = frozenset(part.topic for part in every if part.then)
    for part in every:
        if part.topic in following and not part.then:
            raise BagError(f"{path}: topic {part.topic} has then: true in one place and not in another")
    return following


def _stretches(marks: list[tuple[int, int]], end: int) -> list[Segment]:
    segments = []
    for index, (stamp, value) in enumerate(marks):
        if index and marks[index - 1][1] == value:
            continue
        following = next((later for later, other in marks[index:] if other != value), None)
        if value != 0:
            segments.append(Segment(f"{value} from {stamp} ns", stamp, end if following is None else following))
    return segments

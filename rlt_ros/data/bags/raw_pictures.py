"""Pictures of observations, made anew from the cameras' own topics at another resolution."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rlt_ros.data.bags.bag import Bag, Raw, header_stamp
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.values import picture
from rlt_ros.data.images import square
from rlt_ros.types import Observation

KEPT = 4000
"""Pictures of each camera, small as they are, that an observation may still ask for."""


class RawPictures:
    """cameras: name of each camera to its topic. size: side of the square pictures, pixels. max_age: ns between the
    stamps of an observation and of the picture that it shows, which is the newest that is not later.
    """

    def __init__(self, bag: Bag, cameras: Mapping[str, str], size: int, max_age: int) -> None:
        missing = [topic for topic in cameras.values() if topic not in bag.kinds]
        if missing:
            raise BagError(f"{bag.path}: no topic {missing[0]!r}; there are {', '.join(sorted(bag.kinds)) or 'none'}")
        self._cameras, self._size, self._max_age = dict(cameras), size, max_age
        self._kept: dict[str, deque[tuple[int, np.ndarray]]] = {t: deque(maxlen=KEPT) for t in cameras.values()}
        self.blind = 0
        """Observations without a picture that is fresh enough."""

    @property
    def topics(self) -> list[str]:
        """Topics to read."""
        return list(self._kept)

    def add(self, raw: Raw, bag: Bag) -> None:
        """Keep a picture, at the resolution that is wanted."""
        pixels = square(picture(bag.message(raw), f"message {raw.number} of {raw.topic}"), self._size)
        self._kept[raw.topic].append((header_stamp(raw), pixels))

    def ready(self, stamp: int) -> bool:
        """Whether every camera is known up to a moment, ns: a picture may have been received after the observation that
        shows it.
        """
        return all(kept and kept[-1][0] >= stamp for kept in self._kept.values())

    def seen(self, observation: Observation) -> Observation | None:
        """The observation with these pictures, None where one is missing or too old."""
        found = {name: self._newest(topic, observation.stamp) for name, topic in self._cameras.items()}
        if any(pixels is None for pixels in found.values()):
            self.blind += 1
            return None
        return replace(observation, images=found)

    def _newest(self, topic: str, stamp: int) -> np.ndarray | None:
        kept = list(self._kept[topic])
        place = bisect_right([at for at, _ in kept], stamp) - 1
        return kept[place][1] if place >= 0 and stamp - kept[place][0] <= self._max_age else None

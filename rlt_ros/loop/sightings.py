"""In real time: which observations have come, and so what a chunk or a word may answer."""

from __future__ import annotations

from collections import OrderedDict

from rlt_ros.loop.chunks import ChunkRefused, StaleChunk
from rlt_ros.types import ActionChunk

_KEPT = 512
_EARLY = 2
"""Observations by which a chunk may run ahead of its observation, on another connection."""


class Sightings:
    """Observations by id and stamp. What answers none of them is replayed and moves nothing (field report B36).

    max_age: s, of the observation that a chunk answers.
    """

    def __init__(self, max_age: float) -> None:
        self._max_age = int(max_age * 1e9)
        self._stamps: OrderedDict[int, int] = OrderedDict()

    @property
    def newest(self) -> int:
        """Id of the newest observation, 0 before the first."""
        return next(reversed(self._stamps), 0)

    def add(self, observation_id: int, stamp: int) -> None:
        """An observation has come. stamp: ns. Raises ValueError if its stamp is older than one before (two may see the
        same messages), or its id not higher: then it is a replayed one."""
        newest, before = next(reversed(self._stamps.items()), (0, 0))
        if observation_id <= newest or stamp < before:
            raise ValueError(
                f"observation {observation_id} of {stamp} ns came after observation {newest} of {before} ns"
            )
        self._stamps[observation_id] = stamp
        if len(self._stamps) > _KEPT:
            self._stamps.popitem(last=False)

    def saw(self, observation_id: int, stamp: int) -> bool:
        """Whether an observation with this id and this stamp (ns) has come."""
        return self._stamps.get(observation_id) == stamp

    def forget(self) -> None:
        """The clock of the stamps began anew: no observation seen so far can be answered any more."""
        self._stamps.clear()

    def is_early(self, chunk: ActionChunk) -> bool:
        """False if it answers an observation that was seen, True if one that should come next. Raises ChunkRefused."""
        number = chunk.features_id
        if self.newest < number <= self.newest + _EARLY:
            return True
        stamp = self._stamps.get(number)
        if stamp is None:
            raise ChunkRefused(f"chunk of observation {number}: this executor has seen no such observation")
        if stamp != chunk.stamp:
            raise ChunkRefused(f"chunk of observation {number}: stamp {chunk.stamp} ns, the observation's {stamp} ns")
        age = self._stamps[self.newest] - stamp
        if age > self._max_age:
            raise StaleChunk(
                f"chunk of observation {number}: it is {age / 1e9:.3f} s old, limit {self._max_age / 1e9:.3f} s"
            )
        return False

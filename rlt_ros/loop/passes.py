"""Which observation gets the next VLA pass when passes are slower than observations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from rlt_ros.types import Observation


class PassQueue:
    """Observations that wait for a pass.

    Every stride-th step of an episode is wanted without being asked. Decisions come first: the newest wanted one is
    taken alone as long as it is the newest of all; older ones share batches in quiet moments. With `ordered` (lockstep)
    each is taken alone in the order of its coming, so that results do not depend on the machine's speed.
    """

    def __init__(self, stride: int, capacity: int = 600, batch: int = 8, ordered: bool = False) -> None:
        self._stride, self._capacity, self._batch, self._ordered = stride, capacity, batch, ordered
        self._kept: OrderedDict[int, Observation] = OrderedDict()
        self._wanted: dict[int, None] = {}
        self._early: set[int] = set()

    def __len__(self) -> int:
        return len(self._wanted)

    def add(self, observation: Observation) -> bool:
        """Keep an observation; False if its id is known already. The oldest are forgotten beyond the capacity."""
        if observation.id in self._kept:
            return False
        self._kept[observation.id] = observation
        if observation.step % self._stride == 0 or observation.id in self._early:
            self._wanted[observation.id] = None
            self._early.discard(observation.id)
        while len(self._kept) > self._capacity:
            forgotten, _ = self._kept.popitem(last=False)
            self._wanted.pop(forgotten, None)
        return True

    def request(self, ids: Iterable[int]) -> list[int]:
        """Want these observations, early ones as soon as they come; returns those that are not kept any more."""
        ids = list(ids)
        newest = next(reversed(self._kept), 0)
        self._early.update(number for number in ids if number > newest)
        self._wanted.update((number, None) for number in ids if number in self._kept)
        return [number for number in ids if number not in self._kept and number <= newest]

    def take(self) -> list[Observation]:
        """The observations of the next pass; empty when none is wanted."""
        chosen = self._choose()
        for number in chosen:
            del self._wanted[number]
        return [self._kept[number] for number in chosen]

    def _choose(self) -> list[int]:
        if not self._wanted:
            return []
        if self._ordered:
            return [next(iter(self._wanted))]
        newest = max(self._wanted)
        return [newest] if newest == next(reversed(self._kept)) else sorted(self._wanted)[: self._batch]

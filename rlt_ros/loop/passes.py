"""Which observation gets the next VLA pass when passes are slower than observations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from rlt_ros.types import Observation


class PassQueue:
    """Observations that wait for a pass.

    Every stride-th step of an episode is wanted without being asked. Decisions come first: the newest urgent one is
    taken alone, then the newest wanted one as long as it is the newest of all; older ones share batches in quiet
    moments. While an urgent one is announced that would come during a pass, none is begun. With `ordered` (lockstep)
    each is taken alone in the order of its coming, so that results do not depend on the machine's speed.
    """

    def __init__(self, stride: int, capacity: int = 600, batch: int = 8, ordered: bool = False) -> None:
        self._stride, self._capacity, self._batch, self._ordered = stride, capacity, batch, ordered
        self._kept: OrderedDict[int, Observation] = OrderedDict()
        self._wanted: dict[int, None] = {}
        self._early: set[int] = set()
        self._urgent: set[int] = set()
        self._begun: tuple[int, int] | None = None
        self._lasts: dict[int, int] = {}

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

    def request(self, ids: Iterable[int], urgent: bool = False) -> list[int]:
        """Want these observations, early ones as soon as they come; returns those that are not kept any more. urgent: a
        decision waits for them, and for none that was urgent before."""
        ids = list(ids)
        newest = next(reversed(self._kept), 0)
        if urgent:
            self._urgent = set(ids)
        self._early.update(number for number in ids if number > newest)
        self._wanted.update((number, None) for number in ids if number in self._kept)
        return [number for number in ids if number not in self._kept and number <= newest]

    def take(self, wait: bool = True) -> list[Observation]:
        """The observations of the next pass; empty when none is wanted, or none is to be begun now. wait: False once an
        announced observation was waited for long enough. Called when the pass before has ended."""
        newest = next(reversed(self._kept), 0)
        if self._begun is not None:
            size, before = self._begun
            self._lasts[size] = newest - before
        chosen = self._choose(wait)
        for number in chosen:
            del self._wanted[number]
            self._urgent.discard(number)
        self._begun = (len(chosen), newest) if chosen else None
        return [self._kept[number] for number in chosen]

    def _choose(self, wait: bool) -> list[int]:
        if not self._wanted:
            return []
        if self._ordered:
            return [next(iter(self._wanted))]
        urgent = self._urgent & self._wanted.keys()
        if urgent:
            return [max(urgent)]
        newest = max(self._wanted)
        chosen = [newest] if newest == next(reversed(self._kept)) else sorted(self._wanted)[: self._batch]
        return chosen if not wait or self._has_time_for(len(chosen)) else []

    def _has_time_for(self, size: int) -> bool:
        """No urgent observation is announced that would come while a pass of this size is made."""
        newest = next(reversed(self._kept), 0)
        lasts = self._lasts.get(size, size * self._lasts.get(1, 0))
        return not any(0 < number - newest < lasts for number in self._urgent)

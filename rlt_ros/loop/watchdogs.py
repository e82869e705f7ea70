"""What must keep coming while the arm moves, each with its own limit, and clocks that must keep going."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields

from rlt_ros.ranges import Seconds

SECOND = 1_000_000_000
JUMP = 0.5
"""s, by which the clock of the stamps may run ahead of the steady one between two looks."""


@dataclass(frozen=True)
class Limits:
    """Seconds of silence after which the arm holds. All in steady time, below the 0.2 s that a hold may take."""

    watch_observation: Seconds = 0.15  # s without a usable observation
    watch_state: Seconds = 0.15  # s without a new measurement of the arm
    watch_policy: Seconds = 0.15  # s without a usable word of the operator (policy_mode)
    watch_chunk: Seconds = 0.15  # s without an action chunk to execute while a policy is to drive
    watch_human: Seconds = 0.1  # s without a command of the person who drives: the deadman

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 < value < float("inf"):
                raise ValueError(f"{field.name} is {value} s; expected a positive number")


class Watchdog:
    """Bites when nothing has fed it for longer than its limit; armed from `watch` on. limit: s."""

    def __init__(self, name: str, limit: float) -> None:
        self.name, self.limit = name, limit
        self.bites = 0
        """Times that it began to bite."""
        self._fed: float | None = None
        self._since: float | None = None
        self._biting = False

    def feed(self, now: float) -> None:
        """What it waits for has come."""
        self._fed = now

    def watch(self, now: float, needed: bool = True) -> str:
        """Why the arm must hold, empty if it need not. needed: false where nothing waits for it now."""
        if not needed:
            self._since, self._biting = None, False
            return ""
        if self._since is None:
            self._since = now
        silent = self.age(now)
        biting = silent > self.limit
        self.bites += biting and not self._biting
        self._biting = biting
        if not biting:
            return ""
        came = "none has come" if self._fed is None else f"silent for {silent:.2f} s"
        return f"{self.name}: {came}, limit {self.limit:.2f} s"

    def age(self, now: float) -> float:
        """Seconds since it was fed, or since it was needed first if that is later."""
        return now - max(x for x in (self._fed, self._since, float("-inf")) if x is not None)


class Watchdogs:
    """The five of the executor, by name: observation, state, policy, chunk, human."""

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.dogs = {
            field.name.removeprefix("watch_"): Watchdog(field.name.removeprefix("watch_"), getattr(limits, field.name))
            for field in fields(limits)
        }

    def feed(self, name: str, now: float) -> None:
        """What one of them waits for has come. now: steady seconds."""
        self.dogs[name].feed(now)

    def watch(self, now: float, idle: Iterable[str] = ()) -> dict[str, str]:
        """What each one says now, empty if nothing. idle: those that nothing waits for."""
        return {name: dog.watch(now, name not in idle) for name, dog in self.dogs.items()}

    @property
    def bites(self) -> Counter[str]:
        """Times that each one began to bite."""
        return Counter({name: dog.bites for name, dog in self.dogs.items()})


class ClockWatch:
    """Compares the clock of the stamps with the steady one: going back, standing still, jumping ahead.

    limit: steady s that it may stand still.
    """

    def __init__(self, limit: float = 0.15) -> None:
        self._limit = limit
        self._stamp: int | None = None
        self._seen = self._moved = 0.0

    def look(self, stamp: int, now: float) -> str:
        """What is wrong, empty if nothing. stamp: ns of ROS time. now: steady seconds."""
        before, seen = self._stamp, self._seen
        self._stamp, self._seen = stamp, now
        if before is None or stamp > before:
            self._moved = now
        if before is None:
            return ""
        ahead = (stamp - before) / SECOND
        if ahead < 0.0:
            self._moved = now
            return f"clock: time went back by {-ahead:.3f} s"
        if ahead - (now - seen) > JUMP:
            return f"clock: time jumped ahead by {ahead:.3f} s"
        stopped = now - self._moved
        return f"clock: time has stood still for {stopped:.2f} s; is /clock published?" if stopped > self._limit else ""

"""Goals for a gripper's actions: one in flight, the newest wish wins, and none takes for ever; pure.

The Franka hand runs every goal in a thread of its own, pre-empts none and may take 100 s for one (franka_ros issues
130, 238, 281): whoever sends one per control step, or waits for one, is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rlt_ros.robot.config import Gripper
from rlt_ros.robot.gripper import OPEN

GRACE = 1.0
"""s given to a goal to end after it was cancelled for a newer wish; the hand's stop is not reliable (libfranka 111)."""
HOMING_TIMEOUT = 30.0
"""s"""


class Goal(Enum):
    """What a goal does; the value is its name for people."""

    OPEN = "opening"
    CLOSE = "closing"
    HOME = "homing"


@dataclass(frozen=True)
class Order:
    """To be done now. goal: to send, None to cancel the one with this number."""

    number: int
    goal: Goal | None


class GripperGoals:
    """Turns wishes (held states, -1 closed, +1 open) into orders. Times in s of a steady clock.

    A failed goal, or one that took too long, is reported and not sent again: the next wish is the next goal.
    """

    def __init__(self, config: Gripper) -> None:
        self._config = config
        self._home = config.homing
        self._wish: Goal | None = None
        self._flight: Goal | None = None
        self._number = 0
        self._sent = -float("inf")
        self._cancelled: float | None = None
        self._trouble = ""
        self._news: list[str] = []

    @property
    def status(self) -> str:
        """What is wrong with the gripper, empty if nothing is known to be."""
        return self._trouble

    def wish(self, held: float) -> None:
        """Open (+1) or close (-1), in the place of every older wish."""
        goal = Goal.OPEN if held == OPEN else Goal.CLOSE
        self._wish = None if goal is self._flight and self._cancelled is None else goal

    def step(self, now: float, absent: str) -> Order | None:
        """The next order, None if there is nothing to do. absent: name of the action that has no server, else empty."""
        if self._flight is not None:
            return self._watch(now)
        goal = self.next_goal
        if goal is None or now - self._sent < self._config.interval:
            return None
        if absent:
            self._say(f"{goal.value} waits: {absent} has no action server; is the gripper's node running?")
            return None
        if goal is Goal.HOME:
            self._home = False
        else:
            self._wish = None
        self._flight, self._number, self._sent, self._cancelled = goal, self._number + 1, now, None
        return Order(self._number, goal)

    @property
    def next_goal(self) -> Goal | None:
        """The goal that waits to be sent, None while one is in flight."""
        if self._flight is not None:
            return None
        return Goal.HOME if self._home else self._wish

    def skip(self, why: str) -> None:
        """The goal that waits cannot be had from this gripper."""
        self._say(why)
        self._home = False

    def finished(self, number: int, ok: bool, message: str = "") -> None:
        """A goal has ended; one that was given up before is ignored."""
        if number != self._number or self._flight is None:
            return
        if ok:
            self._trouble = ""
        elif self._cancelled is None:
            self._say(f"{self._flight.value} failed: {message}")
        self._flight = None

    def news(self) -> list[str]:
        """What the operator should hear since the last call."""
        drained, self._news = self._news, []
        return drained

    def _watch(self, now: float) -> Order | None:
        limit = HOMING_TIMEOUT if self._flight is Goal.HOME else self._config.timeout
        if now - self._sent >= limit:
            self._say(f"{self._flight.value} has not ended within {limit:g} s; going on without it: is it stuck?")
            self._flight = None
            return Order(self._number, None)
        if self._cancelled is not None and now - self._cancelled >= GRACE:
            self._say(f"{self._flight.value} does not end after it was cancelled; the next goal goes out all the same")
            self._flight = None
        elif self._cancelled is None and self._wish is not None and self._flight is not Goal.HOME:
            self._cancelled = now
            return Order(self._number, None)
        return None

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._news.append(f"gripper: {trouble}")
        self._trouble = trouble

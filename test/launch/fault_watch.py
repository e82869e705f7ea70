"""What a run did while something was wrong, in the simulator's own time: when the arm stood, when it went on.

Everything is measured from stamps that the simulator gave: how late a message reaches the test does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from graph import Graph, Listener

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of

DRIVEN = (msg.ExecutedStep.VLA, msg.ExecutedStep.ACTOR, msg.ExecutedStep.HUMAN)
TOPICS = {
    "/rlt/sim/truth": (msg.SimTruth, qos.TRANSITIONS),
    "/rlt/executed_step": (msg.ExecutedStep, None),
    "/rlt/policy_mode": (msg.PolicyMode, None),
    "/rlt/episode_event": (msg.EpisodeEvent, None),
}
LIMIT = 0.2
"""s within which the arm must stand (design.md 8)."""
MOVED = 2e-4
"""m between two commands that make the later one a new command."""
AT_THE_ARM = 2e-3
"""m from the tool: a command that asks it to stay where it is."""
MOVING = 0.005
"""m/s of the tool over `SPAN`: above it the arm moves. It drives at up to 0.1 m/s."""
TELEPORT = 0.005
"""m from one simulator step to the next, 0.5 m/s: not even the fastest command moves the arm so."""
SPAN = 5
"""Simulator steps over which a speed is measured."""


@dataclass(frozen=True)
class Instant:
    """The simulator at one step. at, late: s. tool, target: position float64 (3,)."""

    at: float
    late: float
    tool: np.ndarray
    target: np.ndarray
    faults: tuple[str, ...]

    @staticmethod
    def of(m: msg.SimTruth) -> Instant:
        """From what the simulator knows."""
        tool, target = (np.array([p.position.x, p.position.y, p.position.z]) for p in (m.tool, m.target))
        return Instant(m.robot_time, m.late, tool, target, tuple(m.faults))


@dataclass(frozen=True)
class Step:
    """An executed step; `at` is the robot time of its observation, NaN if no sensor message had its stamp."""

    at: float
    id: int
    driver: int
    episode: int
    phase_id: int
    reason: str


@dataclass
class Watch:
    """Listens to a running graph. instants, steps, words: all since the start."""

    graph: Graph
    listener: Listener
    instants: list[Instant] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    """Robot time of an observation by id."""
    _stamps: dict[int, float] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Robot time [s]."""
        return self.instants[-1].at if self.instants else 0.0

    @property
    def word(self) -> msg.PolicyMode | None:
        """The operator's newest word."""
        return self.listener.newest("/rlt/policy_mode")

    def look(self, seconds: float = 0.02) -> bool:
        """Receive for a moment; always true."""
        received = self.listener.received
        seen = {topic: len(messages) for topic, messages in received.items()}
        self.listener.spin(seconds)
        new = {topic: messages[seen[topic] :] for topic, messages in received.items()}
        for m in new["/rlt/sim/truth"]:
            self.instants.append(Instant.of(m))
            self._stamps[stamp_of(m.header)] = m.robot_time
        for m in new["/rlt/policy_mode"]:
            self.times.setdefault(m.observation_id, self._stamps.get(stamp_of(m.header), float("nan")))
        for m in new["/rlt/executed_step"]:
            at = self._stamps.get(stamp_of(m.header), float("nan"))
            self.times.setdefault(m.observation_id, at)
            self.steps.append(Step(at, m.observation_id, m.driver, m.episode, m.phase_id, m.reason))
        return True

    def wait(self, what: Callable[[], Any], timeout: float, why: str) -> Any:
        """Look until a condition holds; fails with the output if the run ends or time runs out."""
        return self.graph.wait_for(lambda: self.look() and what(), timeout, why)

    def driving(self, after: float, steps: int, phase: bool = True) -> bool:
        """Whether the newest steps, all after a moment, were driven, and in a critical phase."""
        newest = self.steps[-steps:]
        return len(newest) == steps and all(
            s.driver in DRIVEN and s.at > after and (s.phase_id > 0 or not phase) for s in newest
        )

    def between(self, start: float, end: float) -> list[Instant]:
        """Instants of a span of robot time."""
        return [i for i in self.instants if start <= i.at < end]


def commanded_until(instants: Iterable[Instant]) -> float:
    """Robot time of the last new command, -inf without one. One that asks the arm to stay where it is does not count:
    a hold may say the last target or the measured pose.
    """
    last, before = float("-inf"), None
    for now in instants:
        if before is not None and np.linalg.norm(now.target - before.target) > MOVED:
            if np.linalg.norm(now.target - now.tool) > AT_THE_ARM:
                last = now.at
        before = now
    return last


def moved_until(instants: list[Instant]) -> float:
    """Robot time until which the tool moved, -inf if it stood all the time. A reset teleports: that is no motion."""
    last = float("-inf")
    for i in range(SPAN, len(instants)):
        span = instants[i - SPAN : i + 1]
        way = span[-1].tool - span[0].tool
        jumped = max(np.linalg.norm(b.tool - a.tool) for a, b in zip(span, span[1:])) > TELEPORT
        if not jumped and np.linalg.norm(way) > MOVING * (span[-1].at - span[0].at):
            last = span[-1].at
    return last


def driven_until(steps: Iterable[Step], start: float, end: float) -> float:
    """Robot time of the last observation of a span upon which somebody drove, -inf without one."""
    return max((s.at for s in steps if start <= s.at < end and s.driver in DRIVEN), default=float("-inf"))


def lateness(instants: Iterable[Instant]) -> float:
    """s by which the machine was late at its worst: the simulator's own timer, in these instants."""
    return max((i.late for i in instants), default=0.0)


@dataclass(kw_only=True)
class Measured:
    """What was measured of one disturbance; times in s of robot time.

    start: when it showed. end: when it was over. commands, motion: from the start to the last new command and to the
    end of the arm's motion, 0 if there was none. driven: from there to the last observation upon which somebody drove.
    late: of the machine. recovered: s until somebody drove again, None if nobody did. phase_id: of the critical phase
    under way. problem: what was waited for in vain. run: its directory.
    """

    start: float = 0.0
    end: float = 0.0
    commands: float = 0.0
    motion: float = 0.0
    driven: float = 0.0
    late: float = 0.0
    recovered: float | None = None
    phase_id: int = 0
    problem: str = ""
    run: str = ""

    @property
    def allowed(self) -> float:
        """s within which the arm had to stand, on this machine at that time."""
        return LIMIT + self.late

    def judge(self, watch: Watch, until: float) -> None:
        """Fill in what the arm did between start and end. until: newest observation that counts for `driven`."""
        start, end = self.start, self.end
        self.commands = max(0.0, commanded_until(watch.between(start - 0.02, end)) - start)
        self.motion = max(0.0, moved_until(watch.between(start, end)) - start)
        self.driven = max(0.0, driven_until(watch.steps, start, until) - start)
        self.late = lateness(watch.between(start - 0.1, min(end, start + 0.6)))

"""The executor in real time: a set-point at every tick of a steady clock, watchdogs, diagnostics."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.motion import Command, Motion
from rlt_ros.loop.setpoints import INTERPOLATION, setpoints_of
from rlt_ros.loop.watchdogs import ClockWatch, Limits, Watchdogs
from rlt_ros.nodes.diagnostics import ERROR, OK, WARN, Diagnostics
from rlt_ros.ranges import Amount, Moment, Seconds
from rlt_ros.robot.commands.base import CommandRefused
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.state import RobotState
from rlt_ros.types import Driver, Mode

KEPT_TICKS = 500
PUBLISHERS_EVERY = 0.2
"""s between two looks at who publishes what."""

_POLICIES = (Mode.VLA, Mode.RL)


@dataclass(frozen=True)
class LiveConfig:
    """Parameters of the executor in real time."""

    interpolation: Moment = INTERPOLATION  # s from a new target to its arrival
    wait_for_word: Moment = 0.01  # s an observation waits for the operator's word about it; then the newest one counts
    wait_for_chunk: Moment = 0.03  # s it waits for a late chunk, or for the command of the person who drives
    chunk_max_age: Seconds = 1.0  # s, of the observation that a chunk answers; older ones are refused
    publisher_lease: Amount = 20.0  # s for which others may still count a killed publisher (Fast DDS: 20)


class Arm(Protocol):
    """What the node does for this module."""

    def now(self) -> int:
        """ROS time in ns."""

    def newest_state(self) -> tuple[RobotState | None, str]:
        """The newest measured state, None if it is too old, and then why."""

    def send(self, command: Command, state: RobotState | None) -> None:
        """Send to the controller. Raises CommandRefused."""

    def publishers(self) -> str:
        """Why nothing may be sent, as to who publishes on the command topic; empty if this node alone does."""

    def gone(self) -> str:
        """Which nodes behind the policies do not run any more, empty if all do."""

    def silent_topics(self) -> list[str]:
        """Topics of the robot that nobody publishes on."""


class Live:
    """Set-points, watchdogs and what is said of both. It holds by itself: no observation is needed for that."""

    def __init__(
        self, arm: Arm, robot: RobotConfig, core: ChunkExecutor, limits: Limits, config: LiveConfig, say: Diagnostics
    ) -> None:
        self._arm, self._core, self._say = arm, core, say
        self.motion = Motion(core, setpoints_of(robot, config.interpolation))
        self.dogs = Watchdogs(limits)
        self._clock = ClockWatch()
        self._period = 1.0 / robot.command.rate
        self._ticked: float | None = None
        self._intervals: deque[float] = deque(maxlen=KEPT_TICKS)
        self._looked = self._told = float("-inf")
        self._lease, self._counted_until = config.publisher_lease, float("-inf")
        self._foreign = "publishers: not looked yet"
        self._silent: list[str] = []
        self._said: dict[str, bool] = {}
        self._clocks = 0
        self.faults: dict[str, str] = {}
        """Why the arm must hold now, by watchdog; those that say nothing are left out."""

    @property
    def fault(self) -> str:
        """All reasons to hold in one line; empty if there is none."""
        return "; ".join(self.faults.values())

    @property
    def alone(self) -> bool:
        """No other publisher commands the arm."""
        return not self._foreign

    def begin(self) -> None:
        """The node was activated: from the measured pose, and only when it is the only publisher."""
        self.motion.release()
        self._core.interrupt(None)
        self._looked, self._ticked = float("-inf"), None
        self._foreign = "publishers: not looked yet"

    def succeed(self) -> None:
        """Another executor has driven this arm before. If it was killed, the controller counts its publisher on and
        ignores ours, though this process may never have seen it."""
        self._counted_until = time.monotonic() + self._lease
        self._look_around(time.monotonic(), at_once=True)

    def feed(self, name: str) -> None:
        """What a watchdog waits for has come."""
        self.dogs.feed(name, time.monotonic())
        self.faults.pop(name, None)

    def look(self, mode: Mode | None) -> None:
        """Every watchdog once, and the clocks. mode: the operator's newest."""
        now = time.monotonic()
        self._look_around(now)
        idle = set() if mode in _POLICIES else {"chunk"}
        idle |= set() if mode is Mode.HUMAN else {"human"}
        state, why = self._arm.newest_state()
        if state is not None:
            self.dogs.feed("state", now)
        said = self.dogs.watch(now, idle)
        if state is None:  # too old to command the arm by, and so for steps that say what was commanded
            said["state"] = f"state: {why}"
        clock = self._clock.look(self._arm.now(), now)
        self._clocks += bool(clock)
        if clock.startswith("clock: time went back"):
            self._core.forget()
        said |= {"clock": clock, "gone": self._arm.gone() if mode in _POLICIES else ""}
        # Without a chunk the arm stands at its last target; dropping what is on its way would starve it for ever.
        self.faults = {k: v for k, v in (said | {"publishers": self._foreign}).items() if v}
        self._tell(now, said, mode)
        self.faults.pop("chunk", None)
        if self.faults:
            self.motion.halt(self.fault)

    def tick(self) -> None:
        """The set-point that is due."""
        now = time.monotonic()
        if self._ticked is not None:
            self._intervals.append(now - self._ticked)
        self._ticked = now
        self.command(now)

    def command(self, now: float) -> None:
        """Send the set-point of the moment."""
        state = self._arm.newest_state()[0]
        command = self.motion.command(now, state)
        if command is None or not self.alone:
            return
        try:
            self._arm.send(command, state)
        except CommandRefused as error:
            self.motion.halt(str(error))
            if self.motion.standing is not None:
                self._arm.send(Command(self.motion.standing, True), state)

    def follow(self, result: StepResult, state: RobotState) -> None:
        """Carry out the answer to an observation, its first part at once."""
        now = time.monotonic()
        if result.executed.driver in (Driver.VLA, Driver.ACTOR):
            self.feed("chunk")
        self.motion.follow(result, state.pose, now)
        self.command(now)

    def _look_around(self, now: float, at_once: bool = False) -> None:
        if now - self._looked < PUBLISHERS_EVERY and not at_once:
            return
        self._looked = now
        left = self._counted_until - now
        former = f"publishers: a former executor may still be counted for {left:.0f} s" if left > 0.0 else ""
        self._foreign = self._arm.publishers() or former
        self._silent = self._arm.silent_topics()

    # what is said

    def _tell(self, now: float, said: dict[str, str], mode: Mode | None) -> None:
        biting = {name: bool(text) for name, text in said.items()} | {"topics": bool(self._silent), "alone": self.alone}
        if biting == self._said and now - self._told < 1.0:
            return
        self._said, self._told = biting, now
        for name, dog in self.dogs.dogs.items():
            level = WARN if name == "chunk" else ERROR
            self._say.say(f"watchdog {name}", said[name], level=level, limit_s=dog.limit, bites=dog.bites)
        self._say.say("watchdog clock", said["clock"], bites=self._clocks)
        self._say.say("policy nodes", said["gone"], "alive")
        self._say.say("command topic", self._foreign, "only publisher")
        silent = f"no publisher on {', '.join(self._silent)}" if self._silent else ""
        self._say.say("robot topics", silent, "all published")
        self._say.say("motion", self.motion.reason, "free to move", WARN, mode="none" if mode is None else mode.name)
        self._say.set("set-points", OK, f"{1.0 / self._period:.0f} Hz", **self._jitter())

    def _jitter(self) -> dict[str, str]:
        if not self._intervals:
            return {}
        late = np.abs(np.array(self._intervals) - self._period) * 1e3
        p50, p99, most = np.quantile(late, [0.5, 0.99, 1.0])
        return {"jitter_p50_ms": f"{p50:.2f}", "jitter_p99_ms": f"{p99:.2f}", "jitter_max_ms": f"{most:.2f}"}

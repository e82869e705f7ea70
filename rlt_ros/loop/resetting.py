"""The reset of an episode in control steps: asked for where the simulator does it, a motion on a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto

from rlt_ros.loop.reset import Move, ResetMotion
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState
from rlt_ros.types import PolicyMode


class _Stage(Enum):
    NONE = auto()
    RUNNING = auto()
    FAILED = auto()
    DONE = auto()


@dataclass(frozen=True)
class Doubts:
    """Why the arm may not move at an observation, each empty if it may. stale: the measured state is old. unready: the
    safety module forbids it. recovery: the robot needs it."""

    stale: str = ""
    unready: str = ""
    recovery: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.stale, self.unready, self.recovery)))


@dataclass(frozen=True)
class ResetStep:
    """One control step of a reset. hold: why the arm holds instead. asks: somebody else must do it now. waits: he has
    not answered. move: of a motion. done: it ends with this step."""

    hold: str = ""
    asks: bool = False
    waits: bool = False
    move: Move | None = None
    done: bool = False


class Resetting:
    """One reset an episode; a failed one is tried again after the operator has left the reset.

    motion: carries it out, None if it is asked for. lockstep: wait for who was asked. refuses: why the command back-end
    cannot send the arm to a target, empty if it can.
    """

    def __init__(self, motion: ResetMotion | None, lockstep: bool, refuses: Callable[[Pose, RobotState], str]) -> None:
        self._motion, self._lockstep, self._refuses = motion, lockstep, refuses
        self._stage = _Stage.NONE
        self._episode = -1
        self._why = ""

    def leave(self) -> None:
        """The operator wants something else."""
        self._stage = _Stage.NONE

    def finish(self, ok: bool) -> None:
        """Who was asked has answered."""
        if self._stage is _Stage.RUNNING:
            self._stage, self._why = (_Stage.DONE if ok else _Stage.FAILED), ""

    def step(self, stamp: int, state: RobotState, word: PolicyMode, doubts: Doubts) -> ResetStep:
        """The next control step. stamp: ns. word: of the operator, with the start that he wants."""
        episode = word.episode
        if episode == self._episode:
            return ResetStep("reset: done; waiting for the operator's next word")
        if self._stage is _Stage.FAILED:
            return self._failed()
        if self._motion is None:
            return self._asked(episode, doubts)
        running = self._stage is _Stage.RUNNING
        if str(doubts) and not (running and (doubts.unready or doubts.recovery)):
            return ResetStep(str(doubts))  # the motion goes on when the state is fresh again
        if not running:
            self._stage = _Stage.RUNNING
            seed, about = word.reset_seed if word.reset_seed >= 0 else episode, word.reset_start
            self._motion.begin(stamp, state, seed, Pose.of(about[:3], about[3:]) if about else None)
        move = Move(failed=str(doubts)) if str(doubts) else self._motion.step(stamp, state)
        return self._moved(move, state, episode)

    def _asked(self, episode: int, doubts: Doubts) -> ResetStep:
        if doubts.recovery:
            return ResetStep(doubts.recovery)
        if self._stage is _Stage.NONE:
            self._stage = _Stage.RUNNING
            return ResetStep(asks=True)
        if self._stage is _Stage.DONE:
            return self._end(ResetStep(), episode)
        return ResetStep(waits=self._lockstep)

    def _moved(self, move: Move, state: RobotState, episode: int) -> ResetStep:
        refused = "" if move.target is None else self._refuses(move.target, state)
        failed = refused or move.failed
        if failed:
            self._stage, self._why = _Stage.FAILED, ": " + failed.replace("; ", ", ")
            return self._failed()
        return self._end(ResetStep(move=move), episode) if move.done else ResetStep(move=move)

    def _failed(self) -> ResetStep:
        return ResetStep(f"reset: failed{self._why}; stop and ask again")

    def _end(self, step: ResetStep, episode: int) -> ResetStep:
        self._stage, self._episode = _Stage.NONE, episode
        return replace(step, done=True)

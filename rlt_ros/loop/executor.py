"""One control step at a time: who drives, whether it is safe, what was really done.

Order of precedence (design.md 3, 7): a stop, then what is known to be wrong, then the reset, then what the measured
state forbids, then the person, then the policy. Time is that of the stamps, so in lockstep ages count in steps.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from rlt_ros.loop.chunks import ChunkQueue, ChunkRefused, Row, StaleChunk
from rlt_ros.loop.human import HumanCommand, doubt
from rlt_ros.loop.reset import Move, ResetMotion
from rlt_ros.loop.resetting import Doubts, Resetting
from rlt_ros.loop.sightings import Sightings
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.following import FollowingMonitor
from rlt_ros.robot.gripper import GripperLatch
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.recovery import RecoveryMachine
from rlt_ros.robot.safety import MOVABLE, Safety, Verdict
from rlt_ros.robot.state import RobotState
from rlt_ros.types import GRIPPER, ActionChunk, Driver, ExecutedStep, Mode, Phase, PolicyMode

CHUNK_MAX_AGE = 1.0
"""s, in real time: a chunk whose observation is older answers what nobody sees any more."""

_KEPT_RESULTS = 64
_POLICIES = (Driver.VLA, Driver.ACTOR)


@dataclass(frozen=True)
class StepResult:
    """What to do and to report for one observation.

    executed: None only where wants_reset: then perform the reset, tell `reset_finished` and call `step` again. target:
    pose to send, None if nothing is sent. gripper: held state -1 or +1 to command, None without a change. notes: what
    the safety module limited.
    """

    executed: ExecutedStep | None
    target: Pose | None = None
    gripper: float | None = None
    wants_reset: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Moment:
    """What is known at one observation."""

    observation_id: int
    stamp: int
    episode: int
    step: int
    state: RobotState
    mode: PolicyMode
    human: HumanCommand | None
    patient: bool
    standing: Pose | None
    fault: str


class ChunkExecutor:
    """Queue, arbitration, anchoring, safety and bookkeeping.

    Deltas start from the last target while the same kind of driver goes on, and from the measured pose after a hold, a
    reset or a person (field reports B06, B42). A hold re-sends the last target while the arm is near it and the
    measured pose otherwise, so it never moves the arm. lockstep: wait for the mode, chunk or command of this very
    observation. Otherwise a chunk must answer an observation that was told to `observe` and is recent enough, so that
    a replayed one never moves the arm (B36). chunk: C that chunks must have, None for any. refuses: why the command
    back-end cannot send the arm to a target, empty if it can; then the arm holds. moves: a reset is a motion of the arm
    instead of something that is asked for (`StepResult.wants_reset`). max_age: s, of a chunk.
    """

    def __init__(
        self,
        robot: RobotConfig,
        chunk: int | None = None,
        lockstep: bool = True,
        refuses: Callable[[Pose, RobotState], str] = lambda target, state: "",
        moves: bool = False,
        max_age: float = CHUNK_MAX_AGE,
    ) -> None:
        self._robot = robot
        self._lockstep = lockstep
        self.sightings = Sightings(max_age)
        self._early: ActionChunk | None = None
        self._key: tuple[Mode, int] | None = None
        self._pending_key: tuple[Mode, int] | None = None
        self._refuses = refuses
        self._stale_after = int(robot.limits.stale_after * 1e9)
        self._space = robot.action_space
        self._safety = Safety(robot.limits, robot.reference)
        self._following = FollowingMonitor(robot.following)
        self._reset = Resetting(ResetMotion(robot, self._safety) if moves else None, lockstep, refuses)
        self.recovery = RecoveryMachine(robot.recovery)
        self._gripper = GripperLatch(robot.gripper)
        self._queue = ChunkQueue(chunk)
        self._results: OrderedDict[int, StepResult] = OrderedDict()
        self._skipped: dict[int, str] = {}
        self._target: Pose | None = None
        self._previous = Driver.HOLD
        self._seen_gripper = False
        self.counts: Counter[str] = Counter()
        """Steps by driver name, and chunks refused (stale: those that came too late)."""

    # real time: what an answer may refer to

    def observe(self, observation_id: int, stamp: int) -> None:
        """In real time, before its `step`: an observation has come. Raises as `Sightings.add` does."""
        self.sightings.add(observation_id, stamp)
        early = self._early
        if early is not None and early.features_id <= observation_id:
            self._early = None
            with suppress(ChunkRefused):
                self.offer(early)

    def forget(self) -> None:
        """The clock of the stamps began anew: no observation seen so far can be answered any more."""
        self.sightings.forget()
        self._early = None

    def hear(self, word: PolicyMode) -> None:
        """In real time: the operator's word has come. Chunks offered from now on were decided knowing it."""
        self._key = (word.mode, word.phase_id)

    def interrupt(self, standing: Pose | None) -> None:
        """Something is wrong between two observations: drop the queue, hold where the set-points stand."""
        self._queue.flush(self.sightings.newest)
        self._target, self._previous = standing or self._target, Driver.HOLD

    def judge(self, target: Pose, state: RobotState) -> Verdict:
        """The safety module's verdict on a set-point; never raises."""
        return self._safety.check(target, state)

    def near(self, target: Pose, state: RobotState) -> bool:
        """Whether the arm is where a hold would hold it."""
        return self._safety.near(target, state)

    # what comes in

    def offer(self, chunk: ActionChunk) -> None:
        """Take a chunk; a repeated one is ignored. Raises ChunkRefused and executes nothing of it."""
        try:
            if not self._lockstep and self.sightings.is_early(chunk):
                self._early = chunk
                return
            self._queue.offer(chunk)
            self._pending_key = self._key
        except StaleChunk:
            self.counts["stale"] += 1
            raise
        except ChunkRefused as error:
            self.counts["refused"] += 1
            self.skip(chunk.features_id, str(error))
            raise

    def skip(self, observation_id: int, reason: str) -> None:
        """No usable chunk will come for an observation: in lockstep, hold there instead of waiting."""
        self._skipped = {observation_id: reason}

    def reset_finished(self, ok: bool) -> None:
        """The reset that `StepResult.wants_reset` asked for has ended. A failed one is tried again after a stop."""
        self._reset.finish(ok)

    def hold(self) -> Pose | None:
        """The last target, to be sent once more before leaving; None if nothing was ever sent."""
        return self._target

    def step(
        self,
        observation_id: int,
        stamp: int,
        episode: int,
        step: int,
        state: RobotState,
        mode: PolicyMode,
        human: HumanCommand | None = None,
        patient: bool = False,
        standing: Pose | None = None,
        fault: str = "",
    ) -> StepResult | None:
        """Answer an observation; a repeated one gets the same answer. None: wait for a chunk, a mode, a command, a
        reset.

        stamp: ns, of the observation. mode: newest known. patient: in real time, wait for a chunk or a person's command
        that is late; without it an empty queue is a hold. standing: in real time, the set-point reached by now, where
        a hold holds. fault: why the arm must hold, as far as the caller knows. Raises ValueError on an observation
        older than those remembered.
        """
        if observation_id in self._results:
            return self._results[observation_id]
        newest = next(reversed(self._results), 0)
        if observation_id < newest:
            raise ValueError(f"observation {observation_id} came after observation {newest}")
        if not self._seen_gripper:
            self._gripper.start(state.gripper_width)
            self._seen_gripper = True
        self._queue.arrive(observation_id)
        now = _Moment(observation_id, stamp, episode, step, state, mode, human, patient, standing, fault)
        result = self._answer(now)
        if result is not None and result.executed is not None:
            self._remember(result)
        return result

    def _remember(self, result: StepResult) -> None:
        executed = result.executed
        self._results[executed.observation_id] = result
        self._previous = executed.driver
        self.counts[executed.driver.name.lower()] += 1
        if len(self._results) > _KEPT_RESULTS:
            self._results.popitem(last=False)

    # who drives

    def _answer(self, now: _Moment) -> StepResult | None:
        word = now.mode
        if self.recovery.observe(now.state) or now.state.mode not in MOVABLE:
            self._target = None  # whatever ends this, the arm goes on from where it is then
            now = replace(now, standing=None)
        if self._lockstep and word.observation_id < now.observation_id:
            return None
        if word.mode is not Mode.RESET:
            self._reset.leave()
        if word.mode is Mode.HOLD:
            return self._hold(now, "operator: hold", flush=True)
        if now.fault:
            return self._hold(now, now.fault, flush=True)
        if now.stamp - word.stamp > self._stale_after:
            return self._hold(now, f"operator: silent for {(now.stamp - word.stamp) / 1e9:.3f} s", flush=True)
        if word.mode is Mode.RESET:
            return self._resetting(now)
        doubts = str(self._doubts(now))
        if doubts:
            return self._hold(now, doubts, flush=True)
        return self._human(now) if word.mode is Mode.HUMAN else self._policy(now)

    def _doubts(self, now: _Moment) -> Doubts:
        age = now.stamp - now.state.stamp
        stale = f"state: measured {age / 1e9:.3f} s before the observation" if age > self._stale_after else ""
        return Doubts(stale, "; ".join(self._safety.ready(now.state)), self.recovery.reason)

    def _policy(self, now: _Moment) -> StepResult | None:
        if self._switches(now):
            return None
        row = self._queue.peek(now.mode.mode)
        if row is None:
            skipped = self._skipped.get(now.observation_id)
            if (self._lockstep or now.patient) and skipped is None:
                return None
            return self._hold(now, skipped or f"starved: {self._queue.late or 'no action chunk has come'}", flush=False)
        result = self._drive(now, row.action, row.chunk.driver, row)
        if result.executed.driver is not Driver.HOLD:
            self._queue.drove()
        return result

    def _switches(self, now: _Moment) -> bool:
        """At a boundary in real time: the chunk that waits was decided before the operator's last word, and the one
        decided after it may be on its way."""
        boundary = now.patient and not self._lockstep and self._queue.empty and self._queue.pending
        return boundary and self._pending_key not in (None, (now.mode.mode, now.mode.phase_id))

    def _human(self, now: _Moment) -> StepResult | None:
        self._queue.flush(now.observation_id)
        command = now.human
        waits = self._lockstep or now.patient
        if waits and (command is None or command.observation_id not in (0, now.observation_id)):
            return None
        why = doubt(command, now.stamp)
        if why:
            return self._hold(now, why, flush=True)
        return self._drive(now, np.clip(command.action, -1.0, 1.0), Driver.HUMAN, None)

    def _resetting(self, now: _Moment) -> StepResult | None:
        step = self._reset.step(now.stamp, now.state, now.mode, self._doubts(now))
        if step.hold:
            return self._hold(now, step.hold, flush=True)
        self._queue.flush(now.observation_id)
        if step.asks:
            return StepResult(None, wants_reset=True)
        if step.waits:
            return None
        result = self._reset_step(now, step.move, step.done)
        if step.done:  # what follows goes on from where the arm and the gripper are then
            self._target, self._seen_gripper = None, False
        return result

    def _reset_step(self, now: _Moment, move: Move | None, done: bool) -> StepResult:
        if move is None:
            still = self._still()
            return StepResult(self._executed(now, Driver.RESET, still, still, 0, commanded=False, reset_done=done))
        anchor = now.state.pose if self._target is None else self._target
        change = None if move.gripper is None else self._gripper.update(move.gripper)
        sent = self._space.action(anchor, move.target, self._gripper.held)
        self._target = move.target
        executed = self._executed(now, Driver.RESET, self._still(), sent, 0, commanded=True, reset_done=done)
        return StepResult(executed, move.target, change)

    # what is done

    def _drive(self, now: _Moment, action: np.ndarray, driver: Driver, row: Row | None) -> StepResult:
        anchor = self._anchor(driver, now.state)
        verdict = self._safety.check(self._space.target(anchor, action), now.state)
        refused = "; ".join(verdict.reasons) if verdict.target is None else self._refuses(verdict.target, now.state)
        if refused:
            return self._hold(now, refused, flush=True)
        lost = self._following.step(now.stamp, now.state, verdict.target, self._space.deltas(action))
        if lost:
            self.recovery.fault(lost)
            return self._hold(now, self.recovery.observe(now.state), flush=True)
        self._target = verdict.target
        change = self._gripper.update(float(action[GRIPPER]))
        sent = self._space.action(anchor, verdict.target, self._gripper.held)
        asked = np.append(action[:GRIPPER], self._gripper.held).astype(np.float32)
        origin = {}
        if row is not None:
            origin = {"chunk_id": row.chunk.features_id, "chunk_index": row.index, "remaining": row.remaining}
        executed = self._executed(now, driver, asked, sent, _phase_of(now.mode, row), **origin)
        return StepResult(executed, verdict.target, change, notes=verdict.reasons)

    def _anchor(self, driver: Driver, state: RobotState) -> Pose:
        goes_on = self._previous in _POLICIES or (self._previous is Driver.HUMAN and driver is Driver.HUMAN)
        if self._robot.anchor == "measured" or self._target is None or not goes_on:
            return state.pose
        return self._target

    def _hold(self, now: _Moment, reason: str, flush: bool) -> StepResult:
        self._following.rest()
        if flush:
            self._queue.flush(now.observation_id)
            self._target = now.standing or self._target
        if self._target is None or not self._safety.near(self._target, now.state):
            self._target = now.state.pose if self._safety.inside(now.state.pose) else None
        sent = self._target
        phase_id, commanded = _phase_of(now.mode, None), sent is not None
        still = self._still()
        executed = self._executed(now, Driver.HOLD, still, still, phase_id, commanded=commanded, reason=reason)
        return StepResult(executed, sent)

    def _still(self) -> np.ndarray:
        return np.array([0.0] * GRIPPER + [self._gripper.held], dtype=np.float32)

    @staticmethod
    def _executed(
        now: _Moment, driver: Driver, action: np.ndarray, sent: np.ndarray, phase_id: int, **rest: object
    ) -> ExecutedStep:
        return ExecutedStep(
            now.observation_id, now.stamp, now.episode, now.step, driver, action, sent, phase_id, **rest
        )


def _phase_of(mode: PolicyMode, row: Row | None) -> int:
    """Critical phase of a step: it begins with the first chunk decided in it, and ends at once (method.md C.5, 39)."""
    current = mode.phase_id if mode.phase is Phase.CRITICAL else 0
    return current if row is None or row.chunk.phase_id == current else 0

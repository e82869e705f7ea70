"""When the actor has to decide, and on which observation."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from rlt_ros.types import ExecutedStep, Features, Mode, PolicyMode

KEPT_FEATURES = 64


@dataclass(frozen=True)
class Decision:
    """A decision that is due. starts_episode: it is the first one after a reset."""

    features: Features
    mode: PolicyMode
    starts_episode: bool


class Decisions:
    """Watches modes, executed steps and features, and says when a chunk is due.

    A chunk is due when the executor's queue is empty and a policy is to drive. In lockstep it belongs to exactly the
    observation after the last executed step; in real time to the newest features at hand, so that a slow VLA does not
    starve the arm (the executor starts such a chunk at the index reached meanwhile).
    """

    def __init__(self, stride: int, lockstep: bool) -> None:
        self._stride, self._lockstep = stride, lockstep
        self._features: OrderedDict[int, Features] = OrderedDict()
        self._mode: PolicyMode | None = None
        self._executed: ExecutedStep | None = None
        self._decided = 0
        self._asked = 0

    @property
    def decided(self) -> int:
        """Observation of the last decision, 0 before the first."""
        return self._decided

    @property
    def executed_id(self) -> int:
        """Observation of the newest executed step, 0 before the first."""
        return 0 if self._executed is None else self._executed.observation_id

    def add_features(self, features: Features) -> None:
        """Features of an observation have come."""
        self._features[features.id] = features
        while len(self._features) > KEPT_FEATURES:
            self._features.popitem(last=False)

    def add_mode(self, mode: PolicyMode) -> None:
        """The operator's word has come."""
        if self._mode is None or mode.observation_id >= self._mode.observation_id:
            self._mode = mode

    def add_executed(self, step: ExecutedStep) -> None:
        """A step was executed."""
        if self._executed is None or step.observation_id >= self._executed.observation_id:
            self._executed = step

    def due(self) -> Decision | None:
        """The decision that can be made now, if any; stays due until `made`."""
        if not self._policy_drives() or not self._queue_is_empty():
            return None
        number = self._candidate()
        if number <= self._decided or number not in self._features:
            return None
        return Decision(self._features[number], self._mode, self._starts_episode())

    def made(self, decision: Decision) -> None:
        """The decision was made; its chunk is out."""
        self._decided = decision.features.id

    def wanted(self) -> int:
        """Observation whose pass must be asked for because it lies between strides; 0 if none. Said once."""
        if not self._policy_drives() or not self._queue_is_empty() or self._executed is None:
            return 0
        number, step = self._mode.observation_id, self._executed.step + 1
        if number != self._executed.observation_id + 1 or self._executed.reset_done or step % self._stride == 0:
            return 0
        if number in self._features or number <= max(self._asked, self._decided):
            return 0
        self._asked = number
        return number

    def _policy_drives(self) -> bool:
        return self._mode is not None and self._mode.mode in (Mode.VLA, Mode.RL)

    def _queue_is_empty(self) -> bool:
        done = self._executed
        if done is None:
            return True
        answered = self._lockstep or done.observation_id >= self._decided or done.reset_done
        follows = not self._lockstep or self._mode.observation_id == done.observation_id + 1
        return done.remaining == 0 and answered and follows

    def _candidate(self) -> int:
        return self._mode.observation_id if self._lockstep else next(reversed(self._features), 0)

    def _starts_episode(self) -> bool:
        return self._executed is None or self._executed.reset_done

"""When the actor has to decide, and on which observation."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from rlt_ros.types import Driver, ExecutedStep, Features, Mode, PolicyMode

KEPT_FEATURES = 64
KEPT_LATENCIES = 8
FIRST_LEAD = 2
"""Control steps of lead before any pass was timed."""
AHEAD = 2
"""Observations by which features may overtake the operator's word."""
PATIENCE = 20
"""Observations after which a pass that was asked for counts as lost."""


@dataclass(frozen=True)
class Decision:
    """A decision that is due. starts_episode: it is the first one after a reset."""

    features: Features
    mode: PolicyMode
    starts_episode: bool


class _Inputs:
    """The newest word, the newest executed step, features by observation."""

    def __init__(self) -> None:
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

    def made(self, decision: Decision, rows: int = 0) -> None:
        """The decision was made; its chunk of so many rows is out."""
        self._decided = decision.features.id

    def _policy_drives(self) -> bool:
        return self._mode is not None and self._mode.mode in (Mode.VLA, Mode.RL)

    def _starts_episode(self) -> bool:
        return self._executed is None or self._executed.reset_done


class Decisions(_Inputs):
    """Lockstep: a chunk is due when the executor's queue is empty and a policy is to drive. It belongs to exactly the
    observation after the last executed step. stride: every n-th observation gets a VLA pass without being asked.
    """

    def __init__(self, stride: int) -> None:
        super().__init__()
        self._stride = stride

    def due(self) -> Decision | None:
        """The decision that can be made now, if any; stays due until `made`."""
        if not self._policy_drives() or not self._queue_is_empty():
            return None
        number = self._mode.observation_id
        if number <= self._decided or number not in self._features:
            return None
        return Decision(self._features[number], self._mode, self._starts_episode())

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

    def ask_again(self) -> None:
        """Let what is missing be asked for once more: who was asked may have been away."""
        self._asked = 0

    def _queue_is_empty(self) -> bool:
        done = self._executed
        return done is None or (done.remaining == 0 and self._mode.observation_id == done.observation_id + 1)


class DecisionsAhead(_Inputs):
    """Real time: a chunk is due `lead` control steps before the running one ends, so that it is there when that ends.

    It answers the newest observation whose pass is done; whatever newer one comes before the boundary is decided on
    again, and so is a decision that the operator's word has overtaken. The rows that are late by then are dropped by
    the executor. The observation of the next decision is announced as soon as it can be foreseen, so that a slow VLA
    begins no other pass before it. lead: 0 for the measured one: what a pass took of late, in observations, and one
    more, at most chunk - 1. chunk: C.
    """

    def __init__(self, chunk: int, lead: int = 0) -> None:
        super().__init__()
        if not 0 <= lead < max(chunk, 2):
            raise ValueError(
                f"lead is {lead} control steps; expected 0 (measured) to {chunk - 1}, one less than a chunk"
            )
        self._fixed, self._most = lead, max(chunk - 1, 1)
        self._latencies: deque[int] = deque(maxlen=KEPT_LATENCIES)
        self._awaited: set[int] = set()
        self._warm = False
        self._floor = 0
        self._boundary = 0
        self._rows = self._made_at = 0
        self._key: tuple | None = None

    @property
    def lead(self) -> int:
        """Control steps before the end of the running chunk at which the next one is decided."""
        measured = max(self._latencies) + 1 if self._latencies else FIRST_LEAD
        return self._fixed or min(measured, self._most)

    @property
    def latency(self) -> int | None:
        """Observations that came while the slowest of the last passes was made; None before one was timed."""
        return max(self._latencies) if self._latencies else None

    def add_features(self, features: Features) -> None:
        """Features of an observation have come; those of one that cannot have been made yet are ignored (B36)."""
        if self._mode is not None and features.id > self._mode.observation_id + AHEAD:
            return
        super().add_features(features)
        if features.id in self._awaited and self._mode is not None:
            self._awaited = {number for number in self._awaited if number > features.id}
            # The very first pass loads what later ones find loaded: it would set the lead for all of them (A07).
            if self._warm:
                self._latencies.append(max(0, self._mode.observation_id - features.id))
            self._warm = True

    def add_executed(self, step: ExecutedStep) -> None:
        """A step was executed."""
        super().add_executed(step)
        starved = step.driver is Driver.HOLD and step.reason.startswith("starved")
        if step.driver not in (Driver.VLA, Driver.ACTOR) and not starved:
            # The executor has dropped its queue: what was seen before is of no use to it.
            self._floor = max(self._floor, step.observation_id)

    def due(self) -> Decision | None:
        """The decision that can be made now, if any; stays due until `made`."""
        features = self._newest()
        if features is None or not self._policy_drives() or self._rows_left() > self.lead:
            return None
        overtaken = self._key != _key(self._mode) and not self._runs(self._decided)
        if features.id <= self._floor or not (features.id > self._decided or overtaken):
            return None
        return Decision(features, self._mode, self._starts_episode())

    def made(self, decision: Decision, rows: int = 0) -> None:
        """The decision was made; its chunk of so many rows is out."""
        super().made(decision)
        self._key, self._rows, self._made_at = _key(decision.mode), rows, decision.mode.observation_id

    def wanted(self) -> int:
        """Observation that the next decision will be made on, possibly one to come; 0 if it was said already."""
        if not self._policy_drives():
            return 0
        seen = self._mode.observation_id
        boundary = max(self._ends(), seen)
        number = max(boundary - self.lead, seen, self._floor + 1)
        on_its_way = self._asked not in self._features and seen - self._asked <= PATIENCE and self._asked > self._floor
        starved = boundary == seen
        if number <= self._asked or boundary == self._boundary or (starved and on_its_way):
            return 0
        self._boundary, self._asked = boundary, number
        self._awaited.add(number)
        return number

    def _ends(self) -> int:
        """Observation at which the chunk that waits will have ended, or the one that runs if none waits."""
        end, done = self.executed_id + 1 + self._rows_left(), self._executed
        unused = done is not None and done.driver is Driver.HOLD and done.observation_id > self._made_at
        waits = self._decided > self._floor and not self._runs(self._decided) and not unused
        return max(end, self._decided + self._rows) if waits else end

    def _rows_left(self) -> int:
        done = self._executed
        return done.remaining if done is not None and done.driver in (Driver.VLA, Driver.ACTOR) else 0

    def _runs(self, observation_id: int) -> bool:
        return self._executed is not None and self._executed.chunk_id == observation_id

    def _newest(self) -> Features | None:
        return self._features[max(self._features)] if self._features else None


def _key(mode: PolicyMode) -> tuple:
    """What of the operator's word a decision depends on."""
    return mode.mode, mode.phase_id, mode.explore, mode.evaluation

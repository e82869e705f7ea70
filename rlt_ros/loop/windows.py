"""Executed steps, features and a label in, rows of the replay out."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field, replace

import numpy as np

from rlt_ros.loop.config import LoopConfig
from rlt_ros.types import (
    ActionChunk,
    Driver,
    EpisodeEvent,
    ExecutedStep,
    Features,
    Label,
    PolicyMode,
    Transition,
)

KEPT_FEATURES = 4096
KEPT_PHASES = 8
LONGEST_STEP = 3.0
"""Control periods between two steps beyond which time has passed that none of them accounts for."""
_NOT_PRACTISED = (Driver.HOLD, Driver.RESET)


@dataclass(frozen=True)
class Assembly:
    """rows: transitions without id and stream. missing: observations whose features are needed first; then there are no
    rows and `finish` is to be called again. dropped: number of windows left out, by reason (hold, gap, short,
    unrecorded, discarded, features)."""

    rows: list[Transition] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Window:
    """Steps start .. start + valid of a phase; features_id and next_id: observations at its start and at its end."""

    start: int
    valid: int
    last: bool
    features_id: int
    next_id: int

    def ids(self, blind: bool) -> tuple[int, ...]:
        """Observations whose features the row names. blind: at the end of the phase only those of its start."""
        return (self.features_id,) if blind and self.last else (self.features_id, self.next_id)


class WindowAssembler:
    """Cuts a labelled critical phase of T steps into windows that start at 0, stride, .. up to T - 2.

    chunk: C. Windows with fewer than C steps left carry valid_horizon; the terminal reward lies on the last executed
    step and so in every window that contains it. None crosses a phase. Features are carried once, by the first row that
    names them: observations belong to one phase only, so once per phase is once per stream.
    With `store_from` "approach" the steps since the reset are the phase's first ones. Without `short_windows` windows
    have C steps and start at .., T - C - stride, T - C: the last one contains the terminal reward. With `outcome_seen`
    terminated windows name the observation that followed. period: s between control steps; where observations failed to
    come the arm held for longer than a step says, so no window spans that, nor a clock that was set.
    """

    def __init__(self, chunk: int, config: LoopConfig | None = None, period: float = 0.05) -> None:
        self._chunk, self._config = chunk, config or LoopConfig()
        self._longest = int(LONGEST_STEP * period * 1e9)
        self._approach: deque[ExecutedStep] = deque(maxlen=KEPT_FEATURES)
        self._steps: OrderedDict[int, list[ExecutedStep]] = OrderedDict()
        self._features: OrderedDict[int, Features] = OrderedDict()
        self._versions: OrderedDict[int, int] = OrderedDict()
        self._unrecorded: OrderedDict[int, None] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Windows left out since the start, by reason."""

    @property
    def dropped(self) -> int:
        """Windows left out since the start."""
        return self.counts.total()

    def features(self, features: Features) -> None:
        """Keep the features of an observation; the oldest are forgotten beyond a bound and can be asked for again."""
        _keep(self._features, features.id, features, KEPT_FEATURES)

    def chunk(self, chunk: ActionChunk) -> None:
        """Note which weights a chunk came from, for `Transition.weights_version`."""
        _keep(self._versions, chunk.features_id, chunk.weights_version, KEPT_FEATURES)

    def mode(self, mode: PolicyMode) -> None:
        """Note the operator's word: phases that are not to be recorded yield no rows."""
        if mode.phase_id and (mode.evaluation or not mode.record):
            _keep(self._unrecorded, mode.phase_id, None, KEPT_FEATURES)

    def executed(self, step: ExecutedStep) -> None:
        """Keep an executed step that windows may cover; repeated ones are ignored."""
        if not step.phase_id:
            self._approached(step)
            return
        if step.phase_id not in self._steps:
            self._steps[step.phase_id] = list(self._approach)
            self._approach.clear()
        _append(self._steps[step.phase_id], step)
        while len(self._steps) > KEPT_PHASES:
            self._steps.popitem(last=False)

    def _approached(self, step: ExecutedStep) -> None:
        if step.reset_done:
            self._approach.clear()
        elif self._config.store_from == "approach":
            _append(self._approach, step)

    def sees_end(self, event: EpisodeEvent) -> bool:
        """Whether rows of a labelled phase name the observation that followed its last step."""
        return self._config.outcome_seen or event.label is Label.ABORT

    def finish(self, event: EpisodeEvent) -> Assembly:
        """Rows of a labelled phase, every step of which was told (`loop.closing` waits for the last one).

        With features missing there are no rows yet: call again when they have come, or `give_up` on them.
        """
        windows, dropped = self._windows(event)
        named = dict.fromkeys(i for window in windows for i in window.ids(not self.sees_end(event)))
        missing = [i for i in named if i not in self._features]
        if missing:
            return Assembly(missing=missing)
        return self._close(event, windows, dropped)

    def give_up(self, event: EpisodeEvent) -> Assembly:
        """Rows of a labelled phase without what will never come."""
        windows, dropped = self._windows(event)
        whole = [w for w in windows if all(i in self._features for i in w.ids(not self.sees_end(event)))]
        dropped["features"] += len(windows) - len(whole)
        return self._close(event, whole, dropped)

    def _close(self, event: EpisodeEvent, windows: list[_Window], dropped: Counter[str]) -> Assembly:
        steps, carried, rows = self._phase(event), set(), []
        for window in windows:
            rows.append(self._row(event, window, steps, carried))
        if rows:
            rows[-1] = replace(rows[-1], last_of_phase=True)
        self._steps.pop(event.phase_id, None)
        for old in [i for i in self._features if i <= event.observation_id]:
            del self._features[old]
        dropped = +dropped
        self.counts.update(dropped)
        return Assembly(rows=rows, dropped=dropped)

    def _phase(self, event: EpisodeEvent) -> list[ExecutedStep]:
        # A step at or after the label's observation was executed before the word had reached the executor.
        steps = [step for step in self._steps.get(event.phase_id, []) if step.observation_id < event.observation_id]
        # A fault holds the arm before the phase is aborted: the phase was cut short where the first hold began.
        while event.label is Label.ABORT and steps and steps[-1].driver in _NOT_PRACTISED:
            steps.pop()
        return steps

    def _end(self, event: EpisodeEvent, steps: list[ExecutedStep]) -> tuple[int, int]:
        """Id and stamp of the observation that follows the last step of a phase; an outcome may be told at any time."""
        last = steps[-1].observation_id if steps else 0
        later = [s for s in self._steps.get(event.phase_id, []) if s.observation_id > last]
        label = event.observation_id, steps[-1].stamp if steps and _terminates(event) else event.stamp
        return min([*((s.observation_id, s.stamp) for s in later), label])

    def _windows(self, event: EpisodeEvent) -> tuple[list[_Window], Counter[str]]:
        """Windows that can become rows, and how many cannot, by reason."""
        steps = self._phase(event)
        starts = self._starts(len(steps))
        reason = self._reason_for_nothing(event)
        if reason or not starts:
            return [], Counter({reason: len(starts)} if reason else {"short": 1})
        kept, dropped = [], Counter()
        ends = [(step.observation_id, step.stamp) for step in steps] + [self._end(event, steps)]
        for start in starts:
            valid = min(self._chunk, len(steps) - start)
            why = self._fault(steps[start : start + valid], *ends[start + valid])
            if why:
                dropped[why] += 1
            else:
                last = start + valid == len(steps)
                kept.append(_Window(start, valid, last, ends[start][0], ends[start + valid][0]))
        return kept, dropped

    def _fault(self, part: list[ExecutedStep], end: int, end_stamp: int) -> str:
        """Why these steps, followed by the observation `end`, make no row; empty if they do."""
        if any(step.driver in _NOT_PRACTISED for step in part):
            return "hold"
        first = part[0]
        expected = [(first.episode, first.observation_id + i, first.step + i) for i in range(len(part))]
        contiguous = [(step.episode, step.observation_id, step.step) for step in part] == expected
        times = np.diff([step.stamp for step in part] + [end_stamp])  # below 0 where the clock was set back
        whole = contiguous and end == part[-1].observation_id + 1 and 0 <= times.min() and times.max() <= self._longest
        return "" if whole else "gap"

    def _starts(self, steps: int) -> range:
        if self._config.short_windows:
            return range(0, steps - 1, self._config.stride)
        return range((steps - self._chunk) % self._config.stride, steps - self._chunk + 1, self._config.stride)

    def _reason_for_nothing(self, event: EpisodeEvent) -> str:
        if event.phase_id in self._unrecorded:
            return "unrecorded"
        return "discarded" if event.label in (Label.DISCARD, Label.NONE) else ""

    def _row(self, event: EpisodeEvent, window: _Window, steps: list[ExecutedStep], carried: set[int]) -> Transition:
        part = steps[window.start : window.start + window.valid]
        named = [i for i in window.ids(not self.sees_end(event)) if i not in carried]
        carried.update(named)
        ended = window.last and _terminates(event)
        rewards = np.zeros(self._chunk, np.float32)
        rewards[window.valid - 1] = float(window.last and event.label is Label.SUCCESS)
        first = part[0]
        return Transition(
            id=0,
            stream="",
            episode=event.episode,
            phase_id=event.phase_id,
            step=first.step,
            features_id=window.features_id,
            next_features_id=window.next_id if self.sees_end(event) or not window.last else 0,
            actions=_padded(np.stack([step.action for step in part]), self._chunk, np.float32),
            drivers=_padded(np.array([step.driver for step in part]), self._chunk, np.uint8),
            rewards=rewards,
            valid_horizon=window.valid,
            terminated=ended,
            truncated=window.last and event.label is Label.ABORT,
            label=event.label,
            steps_to_end=len(steps) - window.start,
            weights_version=self._versions.get(first.chunk_id, 0),
            features=tuple(self._features[i] for i in named),
        )


def _terminates(event: EpisodeEvent) -> bool:
    return event.label in (Label.SUCCESS, Label.FAILURE)


def _padded(values: np.ndarray, length: int, kind: type) -> np.ndarray:
    padded = np.zeros((length, *values.shape[1:]), kind)
    padded[: len(values)] = values
    return padded


def _append(steps: list[ExecutedStep] | deque[ExecutedStep], step: ExecutedStep) -> None:
    if not steps or step.observation_id > steps[-1].observation_id:
        steps.append(step)


def _keep(held: OrderedDict, key: int, value: object, bound: int) -> None:
    held[key] = value
    while len(held) > bound:
        held.popitem(last=False)

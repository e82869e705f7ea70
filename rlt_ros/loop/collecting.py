"""From the streams of a running graph to demonstrations: joins observation, executed step and word of the same id.

A demonstration is a critical phase. Its frames are the observations that the operator's word calls critical, each with
the step executed at it: no first frame is guessed, and no frame after the label gets in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label, Observation, Phase, PolicyMode

PATIENCE = 64
"""Observations that may pass until a stream that lags behind is given up: 3 s at 20 Hz."""


@dataclass
class Take:
    """One demonstration under way or ended. fault: why it cannot be kept, empty if it can."""

    phase_id: int
    frames: int = 0
    holds: Counter[str] = field(default_factory=Counter)
    label: Label = Label.NONE
    fault: str = ""

    def add(self, step: ExecutedStep) -> None:
        """Count a frame; holds by their reason."""
        self.frames += 1
        if step.driver is Driver.HOLD:
            self.holds[step.reason or "no reason given"] += 1


class Sink(Protocol):
    """Where demonstrations go. None of the calls may take long: they are made where messages are received."""

    def add(self, observation: Observation, step: ExecutedStep) -> str:
        """One more frame of the demonstration under way; returns why it cannot be taken, empty if it was."""

    def save(self, take: Take) -> None:
        """The demonstration under way is complete."""

    def drop(self, take: Take) -> None:
        """The demonstration under way leaves nothing behind."""


class EpisodeJoiner:
    """Hands complete demonstrations to a sink and drops whatever has a hole.

    A missing observation, executed step or word within a demonstration, or where it begins, is a fault: the frames lie
    on a grid of control steps, so leaving one out would shift all that follow, and nothing is made up. keep_failures:
    demonstrations labelled a failure are kept as well.
    """

    def __init__(self, sink: Sink, keep_failures: bool = False) -> None:
        self._sink = sink
        self._keep = {Label.SUCCESS, Label.FAILURE} if keep_failures else {Label.SUCCESS}
        self._streams: dict[str, dict[int, Any]] = {"observation": {}, "executed_step": {}, "policy_mode": {}}
        self._newest = dict.fromkeys(self._streams, 0)
        self._events: dict[int, EpisodeEvent] = {}
        self._done = 0
        self._whole = True
        self._take: Take | None = None
        self._notices: list[str] = []

    @property
    def take(self) -> Take | None:
        """The demonstration under way, None between two."""
        return self._take

    def notices(self) -> list[str]:
        """What the operator should hear since the last call, one sentence each."""
        drained, self._notices = self._notices, []
        return drained

    def observation(self, observation: Observation) -> None:
        """Take an observation; a repeated one is ignored."""
        self._arrive("observation", observation.id, observation)

    def executed(self, step: ExecutedStep) -> None:
        """Take an executed step; a repeated one is ignored."""
        self._arrive("executed_step", step.observation_id, step)

    def word(self, word: PolicyMode) -> None:
        """Take the operator's word; a repeated one is ignored."""
        self._arrive("policy_mode", word.observation_id, word)

    def event(self, event: EpisodeEvent) -> None:
        """Take the label of a critical phase."""
        self._events[event.phase_id] = event
        for old in sorted(self._events)[:-PATIENCE]:
            del self._events[old]
        self._advance()

    def interrupt(self, reason: str) -> None:
        """Recording ends here: the demonstration under way, if any, leaves nothing behind."""
        if self._take is not None:
            self._fault(reason)
            self._end(Label.NONE)

    # the streams, side by side

    def _arrive(self, stream: str, number: int, value: Any) -> None:
        if number <= self._done:
            return
        self._streams[stream].setdefault(number, value)
        self._newest[stream] = max(self._newest[stream], number)
        self._advance()
        self._give_up_on_silence()

    def _advance(self) -> None:
        front = min(self._newest.values())
        while self._done < front:
            number = self._done + 1
            if not self._decide(number, *(held.get(number) for held in self._streams.values())):
                return
            self._done = number
            for held in self._streams.values():
                held.pop(number, None)

    def _give_up_on_silence(self) -> None:
        newest = max(self._newest.values())
        if newest - self._done <= PATIENCE:
            return
        silent = min(self._newest, key=lambda stream: self._newest[stream])
        self.interrupt(f"{silent}: nothing for {newest - self._newest[silent]} observations")
        self._skip(newest - PATIENCE // 2)

    def _skip(self, number: int) -> None:
        self._done, self._whole = number, False
        for stream, held in self._streams.items():
            self._newest[stream] = max(self._newest[stream], number)
            for old in [i for i in held if i <= number]:
                del held[old]

    # one observation

    def _decide(
        self, number: int, observation: Observation | None, step: ExecutedStep | None, word: PolicyMode | None
    ) -> bool:
        """Deal with one observation id, whatever has come for it; False: wait for a label."""
        phase = word.phase_id if word is not None and word.phase is Phase.CRITICAL else 0
        if self._take is not None and word is not None and phase != self._take.phase_id and not self._close(number):
            return False
        if phase and self._take is None:
            # No phase reaches over a reset: what is seen from there on is whole, though the collector came late.
            self._begin(phase, self._whole or (observation is not None and observation.step == 0))
        parts = {"observation": observation, "executed_step": step, "policy_mode": word}
        missing = [name for name, part in parts.items() if part is None]
        if self._take is not None:
            self._frame(number, observation, step, missing)
        self._whole = word is not None
        return True

    def _begin(self, phase_id: int, whole: bool) -> None:
        self._take = Take(phase_id)
        if not whole:
            self._fault("the words before its first frame are missing: it may have begun earlier")

    def _frame(
        self, number: int, observation: Observation | None, step: ExecutedStep | None, missing: list[str]
    ) -> None:
        if self._take.fault:
            return
        if missing:
            self._fault(f"{' and '.join(missing)} of observation {number} is missing")
            return
        refusal = self._sink.add(observation, step)
        if refusal:
            self._fault(refusal)
        else:
            self._take.add(step)

    # its end

    def _close(self, number: int) -> bool:
        event = self._events.get(self._take.phase_id)
        if event is None:
            if max(self._newest.values()) - number < PATIENCE // 2:
                return False
            self._fault("its phase ended without a label")
        elif event.observation_id != number:
            self._fault(f"its label names observation {event.observation_id}, its words end at {number}")
        self._end(Label.NONE if event is None else event.label)
        return True

    def _end(self, label: Label) -> None:
        take, self._take = self._take, None
        take.label = label
        if not take.fault and take.frames == 0:
            take.fault = "it has no frame"
        keep = label in self._keep and not take.fault
        (self._sink.save if keep else self._sink.drop)(take)

    def _fault(self, reason: str) -> None:
        if not self._take.fault:
            self._take.fault = reason
            self._notices.append(f"demonstration {self._take.phase_id} will not be kept: {reason}")

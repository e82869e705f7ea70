"""A stream of observations, executed steps and words with demonstrations in it, for the tests of the collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from loop_parts import executed, stamp

from rlt_ros.loop.collecting import EpisodeJoiner, Take
from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label, Mode, Observation, Phase, PolicyMode

Message = Observation | ExecutedStep | PolicyMode | EpisodeEvent


class Shelf:
    """A sink that keeps what it is given. full: why it takes no frame."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.saved: dict[int, list[int]] = {}
        self.dropped: dict[int, str] = {}
        self.full = ""

    def add(self, observation: Observation, step: ExecutedStep) -> str:
        assert observation.id == step.observation_id
        if not self.full:
            self.open.append(observation.id)
        return self.full

    def save(self, take: Take) -> None:
        assert take.frames == len(self.open)
        self.saved[take.phase_id], self.open = self.open, []

    def drop(self, take: Take) -> None:
        self.dropped[take.phase_id], self.open = take.fault or take.label.name, []


def observation(number: int) -> Observation:
    rng = np.random.default_rng(number)
    images = {name: rng.integers(0, 256, (16, 16, 3), np.uint8) for name in ("front", "wrist")}
    return Observation(number, stamp(number), 1, number, images, rng.normal(size=19).astype(np.float32))


def step(number: int, phase_id: int, driver: Driver = Driver.HUMAN, **changes: object) -> ExecutedStep:
    asked, sent = np.random.default_rng(number + 10_000).uniform(-1, 1, (2, 7)).astype(np.float32)
    return replace(executed(number, driver, phase_id), action=asked, sent=sent, **changes)


def word(number: int, phase_id: int) -> PolicyMode:
    phase = Phase.CRITICAL if phase_id else Phase.APPROACH
    return PolicyMode(number, stamp(number), Mode.HUMAN, phase, phase_id, 1, False, False, False)


def label(number: int, phase_id: int, what: Label = Label.SUCCESS) -> EpisodeEvent:
    return EpisodeEvent(number, stamp(number), 1, phase_id, what)


def stream(phases: Iterable[tuple[int, Label]], pause: int = 2) -> Iterator[Message]:
    """What the graph sends for phases of so many steps each, with a pause before each and after the last."""
    number = 0
    for phase_id, (steps, what) in enumerate(phases, 1):
        for inside in [0] * pause + [phase_id] * steps:
            number += 1
            yield from (observation(number), word(number, inside), step(number, inside))
        yield label(number + 1, phase_id, what)
    for _ in range(pause):
        number += 1
        yield from (observation(number), word(number, 0), step(number, 0))


def give(joiner: EpisodeJoiner, messages: Iterable[Message]) -> None:
    take = {
        Observation: joiner.observation,
        ExecutedStep: joiner.executed,
        PolicyMode: joiner.word,
        EpisodeEvent: joiner.event,
    }
    for message in messages:
        take[type(message)](message)


def number_of(message: Message) -> int:
    return message.id if isinstance(message, Observation) else message.observation_id

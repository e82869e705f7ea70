"""A recorded run through another Stage-1 checkpoint: its observations get new features, its phases new rows."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlt_ros.data.bags.bag import Bag, Raw
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.ours import EVENT, OBSERVATION, STEP, observation_of, step_of
from rlt_ros.data.bags.raw_pictures import RawPictures
from rlt_ros.loop.closing import PhaseCloser
from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.outbox import Outbox
from rlt_ros.loop.parts import Extractor
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.types import (
    ActionChunk,
    Driver,
    EpisodeEvent,
    Label,
    Mode,
    Observation,
    Phase,
    PolicyMode,
    Transition,
)

MODE, CHUNK = "rlt_ros/msg/PolicyMode", "rlt_ros/msg/ActionChunk"
KINDS = (OBSERVATION, STEP, EVENT, MODE, CHUNK)
KEPT = 2000
"""Observations kept for the phase that they may belong to."""


class BagFeatures:
    """Messages of one run in, rows out: what actor and features node would have made of it with this checkpoint.

    Who drove, and by which weights, stays as it was. batch: observations in one pass; with 1 the features are those
    of a live run, bit for bit. raw: pictures anew from the cameras of the bag, None to take those in its observations.
    """

    def __init__(
        self,
        extractor: Extractor,
        chunk: int,
        period: float,
        stream: str,
        config: LoopConfig | None = None,
        batch: int = 1,
        raw: RawPictures | None = None,
    ) -> None:
        self._extractor, self._batch, self._raw = extractor, batch, raw
        self._windows = WindowAssembler(chunk, config, period)
        self._closer = PhaseCloser(self._windows)
        self._outbox = Outbox(stream, bound=1)
        self._observations: OrderedDict[int, Observation] = OrderedDict()
        self._executed = 0
        self.passes = 0
        """Observations that got features."""
        self.phases = 0
        """Labelled phases."""

    @property
    def dropped(self) -> Counter[str]:
        """Windows that became no rows, by reason."""
        return self._windows.counts

    def rows(self, bag: Bag) -> Iterator[Transition]:
        """Rows of the bag, phase by phase. Raises BagError naming a topic that it lacks, ValueError as the extractor
        does.
        """
        topics = [_only(bag, kind) for kind in KINDS]
        kinds = {topic: kind for topic, kind in zip(topics, KINDS, strict=True)}
        wanted = [*topics, *(self._raw.topics if self._raw else ())]
        for raw in bag.raw(wanted):
            if raw.topic in kinds:
                self._take(kinds[raw.topic], bag.message(raw), raw)
                yield from self._closed(now=0.0)
            elif self._raw is not None:
                self._raw.add(raw, bag)
        yield from self._closed(now=1e9)  # nothing more will come

    def _take(self, kind: str, message: Any, raw: Raw) -> None:
        if kind == OBSERVATION:
            self._observe(observation_of(message, raw))
        elif kind == STEP:
            step = step_of(message, raw)
            self._windows.executed(step)
            self._executed = max(self._executed, step.observation_id)
        elif kind == MODE:
            self._windows.mode(_mode(message))
        elif kind == CHUNK:
            self._windows.chunk(_chunk(message))
        else:
            self.phases += 1
            self._closer.add(_event(message), now=0.0)

    def _observe(self, observation: Observation) -> None:
        self._observations.setdefault(observation.id, observation)
        while len(self._observations) > KEPT:
            self._observations.popitem(last=False)

    def _closed(self, now: float) -> Iterator[Transition]:
        while self._closer.busy:
            closing = self._closer.close(self._executed, now)
            yield from self._outbox.put(closing.rows)
            there = [self._observations[number] for number in closing.wanted if number in self._observations]
            if self._raw is not None and not now and not all(self._raw.ready(o.stamp) for o in there):
                self._closer.ask_again()
                return
            there = there if self._raw is None else [seen for o in there if (seen := self._raw.seen(o)) is not None]
            if not there:
                return
            for start in range(0, len(there), self._batch):
                for features in self._extractor.features(there[start : start + self._batch]):
                    self._windows.features(features)
                    self.passes += 1


def _only(bag: Bag, kind: str) -> str:
    topics = bag.topics_of(kind)
    if len(topics) != 1:
        found = ", ".join(topics) or "none"
        raise BagError(f"{bag.path}: one topic of {kind} is needed, there are {found}: was it recorded as `full`?")
    return topics[0]


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)


def _event(message: Any) -> EpisodeEvent:
    label = Label(int(message.label))
    return EpisodeEvent(
        int(message.observation_id), _stamp(message), int(message.episode), int(message.phase_id), label
    )


def _mode(message: Any) -> PolicyMode:
    return PolicyMode(
        observation_id=int(message.observation_id),
        stamp=_stamp(message),
        mode=Mode(int(message.mode)),
        phase=Phase(int(message.phase)),
        phase_id=int(message.phase_id),
        episode=int(message.episode),
        explore=bool(message.explore),
        record=bool(message.record),
        evaluation=bool(message.evaluation),
    )


def _chunk(message: Any) -> ActionChunk:
    return ActionChunk(
        features_id=int(message.features_id),
        stamp=_stamp(message),
        actions=message.actions,
        driver=Driver(int(message.driver)),
        phase_id=int(message.phase_id),
        weights_version=int(message.weights_version),
    )


def stream_name(bag: Path) -> str:
    """Name of the stream of rows made from a bag."""
    return f"bag/{bag.resolve().parent.name}/{bag.resolve().name}"

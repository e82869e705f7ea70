"""What is in a bag: its topics and their timing, the phases of its runs, what was lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.bags.bag import Bag, Raw, header_stamp
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.ours import BEGINS_WITHIN, EVENT, OBSERVATION, STEP, event_of, step_of
from rlt_ros.data.bags.sequence import NUMBERED, Sequence
from rlt_ros.data.bags.stretches import Placed, Runs
from rlt_ros.data.bags.timing import Timing
from rlt_ros.data.bags.versions import differences
from rlt_ros.types import Driver, Label

FEATURES, CHUNK, ROW = (f"rlt_ros/msg/{name}" for name in ("Features", "ActionChunk", "Transition"))
NUMBERS = {kind: NUMBERED[kind] for kind in (OBSERVATION, STEP, ROW)} | {FEATURES: "id", CHUNK: "features_id"}
"""Our types that are read for their number, and the field that has it. The last two name observations, but not every
one."""


@dataclass(frozen=True)
class PhaseFound:
    """A critical phase. run: from 0. start, end: stamps of first and last step [ns]. label: None if nobody gave one.

    drivers: steps by who drove. helps: how often a person took over. holds: reasons of the steps that held and how
    often. lost: steps in it that are not in the bag. cut: why it is not whole, empty if it is.
    """

    run: int
    number: int
    start: int
    end: int
    label: Label | None
    drivers: Counter[str]
    helps: int
    holds: Counter[str]
    lost: int
    cut: str = ""

    @property
    def steps(self) -> int:
        """Steps in the bag."""
        return sum(self.drivers.values())


@dataclass
class Survey:
    """path: of the bag. topics: timing by name. phases: of all runs. lost: numbered messages that are not there, by
    topic. answers: seconds from the receipt of an observation to that of what answers it, by topic. damage: why reading
    ended early, empty if it did not.
    differences: in which our messages are of another version, a line each.
    """

    path: Path
    topics: dict[str, Timing] = field(default_factory=dict)
    phases: list[PhaseFound] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    answers: dict[str, np.ndarray] = field(default_factory=dict)
    damage: str = ""
    differences: list[str] = field(default_factory=list)

    @property
    def start(self) -> int:
        """Receipt of the first message [ns], 0 in an empty bag."""
        return min((timing.receipts[0] for timing in self.topics.values() if timing.receipts), default=0)

    @property
    def seconds(self) -> float:
        """From the first receipt to the last."""
        end = max((timing.receipts[-1] for timing in self.topics.values() if timing.receipts), default=0)
        return (end - self.start) / 1e9


def survey(bag: Bag) -> Survey:
    """Read a bag. What comes before a damaged place is told; Raises BagError where nothing can be read at all."""
    reading = _Reading(bag)
    try:
        for raw in bag.raw(list(bag.kinds)):
            reading.add(raw)
    except BagError as error:
        if not reading.read:
            raise
        reading.found.damage = str(error)
    return reading.finished()


class _Reading:
    def __init__(self, bag: Bag) -> None:
        self._bag, self.read, self.found = bag, 0, Survey(bag.path)
        self.found.differences = differences(bag)
        self._stamped = {topic: bag.stamped(topic) for topic in bag.kinds}
        self._runs = Runs()
        self._numbers: dict[str, dict[str, Sequence]] = defaultdict(lambda: defaultdict(Sequence))
        self._seen: dict[int, int] = {}
        self._answers: dict[str, list[float]] = defaultdict(list)
        for topic, kind in bag.kinds.items():
            self.found.topics[topic] = Timing(kind)

    def add(self, raw: Raw) -> None:
        self.read += 1
        stamp = header_stamp(raw) if self._stamped[raw.topic] else 0
        self.found.topics[raw.topic].add(raw.receipt, stamp, len(raw.data))
        if raw.kind in NUMBERS or raw.kind == EVENT:
            self._ours(raw, self._bag.message(raw))

    def _ours(self, raw: Raw, message: Any) -> None:
        if raw.kind == EVENT:
            self._runs.event(event_of(message))
            return
        number = int(getattr(message, NUMBERS[raw.kind]))
        self._numbers[raw.topic][str(getattr(message, "stream", ""))].add(number, header_stamp(raw))
        if raw.kind == STEP:
            self._runs.step(step_of(message, raw))
        self._answered(raw, number)

    def _answered(self, raw: Raw, number: int) -> None:
        if raw.kind == OBSERVATION:
            self._seen.setdefault(number, raw.receipt)
        elif raw.kind != ROW and number in self._seen:
            self._answers[raw.topic].append((raw.receipt - self._seen[number]) / 1e9)

    def finished(self) -> Survey:
        found = self.found
        found.topics = {topic: timing for topic, timing in found.topics.items() if timing.receipts}
        found.phases = list(_phases(self._runs.placed()))
        found.answers = {topic: np.array(seconds) for topic, seconds in self._answers.items()}
        for topic, streams in self._numbers.items():
            if self._bag.kinds[topic] in NUMBERED:
                found.lost[topic] = sum(numbers.lost() for numbers in streams.values())
        return found


def _phases(placed: list[Placed]) -> Iterator[PhaseFound]:
    ends = {run: (steps[0], steps[-1]) for run, steps in _by_run(placed)}
    for (run, _, number), group in groupby(placed, lambda p: (p.run, p.stretch, p.step.phase_id)):
        steps = [each for each in group if not each.after]
        if not number or not steps:
            continue
        first, last = ends[run]
        yield _phase(run, number, steps, steps[0] is first, steps[-1] is last)


def _by_run(placed: list[Placed]) -> list[tuple[int, list[Placed]]]:
    return [(run, list(group)) for run, group in groupby(placed, lambda p: p.run)]


def _phase(run: int, number: int, placed: list[Placed], at_start: bool, at_end: bool) -> PhaseFound:
    steps, label = [each.step for each in placed], placed[0].label
    human = [step.driver is Driver.HUMAN for step in steps]
    cut = []
    if at_start:
        cut.append(BEGINS_WITHIN)
    if at_end and label is None:
        cut.append("the bag ends within it")
    ids = [step.observation_id for step in steps]
    return PhaseFound(
        run,
        number,
        steps[0].stamp,
        steps[-1].stamp,
        label,
        Counter(step.driver.name for step in steps),
        sum(now and not before for before, now in zip([False, *human], human)),
        Counter(step.reason.partition(":")[0] for step in steps if step.driver is Driver.HOLD),
        ids[-1] - ids[0] + 1 - len(ids),
        "; ".join(cut),
    )

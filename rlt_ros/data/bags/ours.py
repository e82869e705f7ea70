"""Frames from this package's own topics: `observation` with the `executed_step` of the same id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from rlt_ros.data.bags.bag import Bag, Raw
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.layout import Values
from rlt_ros.data.bags.plan import NAMED, Episode, Segment
from rlt_ros.data.bags.stretches import Event, Placed, Runs
from rlt_ros.data.bags.timeline import Timeline
from rlt_ros.data.bags.values import picture
from rlt_ros.data.framing import step_features, step_frame
from rlt_ros.data.lerobot.recording import outcome
from rlt_ros.robot.config import RobotConfig
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES, Driver, ExecutedStep, Label, Observation

OBSERVATION, STEP, EVENT = (f"rlt_ros/msg/{name}" for name in ("Observation", "ExecutedStep", "EpisodeEvent"))
WAYS = ("phase", "episode", "run")
BEGINS_WITHIN = "the bag begins within it: its first steps are not there"


class OwnTopics:
    """Pairs of observation and executed step.

    split: what becomes an episode. phase: every critical phase, without those that were discarded. episode: from reset
    to reset. run: everything. storage: of pictures, video or image.
    """

    receipt = False
    following: frozenset[str] = frozenset()  # a step carries the stamp of its observation

    def __init__(self, bag: Bag, robot: RobotConfig, split: str = "phase", storage: str = "image") -> None:
        if split not in WAYS:
            raise BagError(f"split is {split!r}; expected one of {', '.join(WAYS)}")
        self._robot, self._split, self._storage = robot, split, storage
        self._observation, self._step = _only(bag, OBSERVATION), _only(bag, STEP)
        self.topics, self.pace = (self._observation, self._step), self._observation
        self.watched = tuple(bag.topics_of(EVENT))
        self.stamp_columns: dict[str, str] = {}  # a frame of ours has the stamp that both messages carry
        self.max_age = 1.0 / robot.control_rate
        self.rate = robot.control_rate  # actions are deltas per control step
        self._runs = Runs()
        self._steps: list[ExecutedStep] = []

    def watch(self, bag: Bag, raw: Raw) -> None:
        """Remember steps, and labels by the number of their phase."""
        if raw.topic == self._step:
            self._runs.step(step_of(bag.message(raw), raw))
        elif raw.topic in self.watched:
            self._runs.event(event_of(bag.message(raw)))

    def segments(self, timelines: Mapping[str, Timeline]) -> list[Segment]:
        """Stretches of steps that belong together."""
        period = round(1e9 / self._robot.control_rate)
        placed = self._runs.placed()
        self._steps = [each.step for each in placed]
        groups = ((key, list(group)) for key, group in groupby(placed, self._key))
        firsts = {each.run: each for each in reversed(placed)}
        found = [self._segment(key[-1], group, period, firsts) for key, group in groups if key is not None]
        if not found:
            what = {"phase": "no critical phase", "episode": "no episode", "run": "no executed step"}[self._split]
            raise BagError(f"{what} in {self._step}; --split says what becomes an episode: {', '.join(WAYS)}")
        return [segment for segment in found if segment is not None]

    def _key(self, placed: Placed) -> tuple[int, ...] | None:
        """What all steps of a segment share, its number last."""
        step = placed.step
        if self._split == "run":
            return (placed.run,)
        if self._split == "episode":
            return None if step.driver is Driver.RESET else (placed.run, step.episode)
        return (placed.run, placed.stretch, step.phase_id) if step.phase_id and not placed.after else None

    def _segment(self, number: int, group: list[Placed], period: int, firsts: Mapping[int, Placed]) -> Segment | None:
        labels = {placed.label for placed in group if placed.label is not None}
        if Label.DISCARD in labels and self._split != "run":
            return None
        success = Label.SUCCESS in labels if labels else None
        start, end = group[0].step.stamp, group[-1].step.stamp + period
        note = BEGINS_WITHIN if self._split != "run" and group[0] is firsts[group[0].run] else ""
        return Segment(f"{self._split} {number}", start, end, success, note)

    def faults(self, episode: Episode, timelines: Mapping[str, Timeline]) -> list[str]:
        """Steps that were not recorded, and frames whose step is not that of their observation."""
        segment = episode.segment
        if self._split == "phase" and self.watched and segment.success is None:
            return ["its phase has no label: it was interrupted"]
        steps = [s for s in self._steps if segment.start <= s.stamp < segment.end]
        ids = sorted({s.observation_id for s in steps})
        lost = sorted(set(range(ids[0], ids[-1] + 1)) - set(ids)) if ids else []
        found = [f"{self._step}: the step of observation {number} was not recorded" for number in lost[:NAMED]]
        if len(lost) > NAMED:
            found.append(f"{self._step}: {len(lost) - NAMED} further steps were not recorded")
        observed, done = (_picked(timelines[topic], episode.picks[topic]) for topic in self.topics)
        return found + self._unpaired(observed, done) + _uneven(steps, done)

    def _unpaired(self, observed: np.ndarray, done: np.ndarray) -> list[str]:
        # An executed step carries the stamp of its observation.
        wrong = np.flatnonzero(observed != done)
        found = [f"frame {i}: {self._observation} and {self._step} are of different moments" for i in wrong[:NAMED]]
        return found + ([f"{len(wrong) - NAMED} further frames like these"] if len(wrong) > NAMED else [])

    def read(self, bag: Bag, raw: Raw) -> Observation | ExecutedStep:
        """An observation or a step."""
        message = bag.message(raw)
        return step_of(message, raw) if raw.topic == self._step else observation_of(message, raw)

    def features(self, values: Values) -> dict[str, Any]:
        """As the collector's."""
        return step_features(self._robot, values[self._observation].images, self._storage == "video")

    def frame(self, values: Values) -> dict[str, Any]:
        """As the collector's."""
        return step_frame(values[self._observation], values[self._step])

    def last(self, success: bool | None) -> dict[str, Any]:
        """As the collector's; an episode without a label is no success."""
        return outcome(bool(success))


def _picked(timeline: Timeline, numbers: np.ndarray) -> np.ndarray:
    """Stamps of messages, int64, ns."""
    return timeline.stamps[np.searchsorted(timeline.numbers, numbers)]


def _uneven(steps: Iterable[ExecutedStep], picked: np.ndarray) -> list[str]:
    """Actions are deltas: with a step left out, or there twice, the frames lead elsewhere than the arm went."""
    used = Counter(picked.tolist())
    wrong = [(step.observation_id, used[step.stamp]) for step in steps if used[step.stamp] != 1]
    found = [f"observation {number} falls on {count} ticks of the grid instead of one" for number, count in wrong]
    more = [f"{len(wrong) - NAMED} further observations like these"] if len(wrong) > NAMED else []
    return found[:NAMED] + more


def _only(bag: Bag, kind: str) -> str:
    topics = bag.topics_of(kind)
    if len(topics) == 1:
        return topics[0]
    found = f"there are {', '.join(topics)}" if topics else "there is none"
    hint = (
        "name the topics in a --mapping" if not topics else "record one robot a bag, or name the topics in a --mapping"
    )
    raise BagError(f"{bag.path}: one topic of {kind} is needed, but {found}; {hint}")


def _stamp(message: Any) -> int:
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)


def observation_of(message: Any, raw: Raw) -> Observation:
    """An Observation. Raises BagError naming what is wrong with it."""
    where = f"message {raw.number} of {raw.topic}"
    _check(message, ("id", "cameras", "images", "proprio"), where)
    if len(message.cameras) != len(message.images):
        raise BagError(f"{where}: {len(message.cameras)} cameras but {len(message.images)} images")
    named = zip(message.cameras, message.images)
    images = {name: picture(image, f"{where}, camera {name}") for name, image in named}
    proprio = _vector(message.proprio, len(PROPRIO_NAMES), f"{where}: proprio")
    return Observation(int(message.id), _stamp(message), int(message.episode), int(message.step), images, proprio)


def event_of(message: Any) -> Event:
    """An EpisodeEvent."""
    return int(message.phase_id), int(message.observation_id), Label(int(message.label))


def step_of(message: Any, raw: Raw) -> ExecutedStep:
    """An ExecutedStep. Raises BagError naming what is wrong with it."""
    where = f"message {raw.number} of {raw.topic}"
    _check(message, ("observation_id", "driver", "action", "sent", "phase_id", "chunk_id", "reset_done"), where)
    return ExecutedStep(
        observation_id=int(message.observation_id),
        stamp=_stamp(message),
        episode=int(message.episode),
        step=int(message.step),
        driver=Driver(int(message.driver)),
        action=_vector(message.action, len(ACTION_NAMES), f"{where}: action"),
        sent=_vector(message.sent, len(ACTION_NAMES), f"{where}: sent"),
        phase_id=int(message.phase_id),
        chunk_id=int(message.chunk_id),
        chunk_index=int(message.chunk_index),
        remaining=int(message.remaining),
        commanded=bool(message.commanded),
        reset_done=bool(message.reset_done),
        reason=str(message.reason),
    )


def _check(message: Any, fields: Iterable[str], where: str) -> None:
    missing = [name for name in fields if not hasattr(message, name)]
    if missing:
        raise BagError(f"{where}: no field {missing[0]!r}: the bag was recorded with another version of the messages")


def _vector(values: Any, size: int, where: str) -> np.ndarray:
    found = np.asarray(values, dtype=np.float32)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise BagError(f"{where}: {found.tolist()}; expected {size} finite values")
    return found

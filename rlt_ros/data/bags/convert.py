"""From a bag to a LeRobot dataset: one pass over the stamps, one over the messages that frames are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.bags.bag import Bag, header_stamp
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.layout import Layout
from rlt_ros.data.bags.plan import Episode, Segment, plan_episode
from rlt_ros.data.bags.timeline import Timeline, best_offset
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.files import written_aside

Key = tuple[str, int]
"""Topic and number of a message."""


@dataclass(frozen=True)
class Options:
    """How a bag becomes a dataset.

    rate: Hz, a whole number. offset: s, None for the steadiest. max_age: s, None for the layout's. on_fault: skip
    leaves out an episode with a faulty tick, fail refuses the bag. codec: of videos.
    """

    rate: int
    instruction: str
    robot_type: str
    offset: float | None = None
    max_age: float | None = None
    on_fault: str = "skip"
    codec: str = "h264"


@dataclass(frozen=True)
class Conversion:
    """What was made of a bag: timelines of the topics, written and left out episodes, the grid that was used."""

    timelines: dict[str, Timeline]
    written: list[Episode]
    skipped: list[Episode]
    offset: float
    max_age: float


def convert(
    bag: Bag,
    layout: Layout,
    out: Path,
    options: Options,
    on_episode: Callable[[int, int], None] = lambda done, of: None,
) -> Conversion:
    """Write the dataset, whole or not at all. on_episode: told how many of how many are written.

    Raises BagError where the bag does not hold what is needed or no episode is left.
    """
    if out.exists():
        raise BagError(f"{out}: exists already; choose another directory")
    conversion = survey(bag, layout, options)
    with written_aside(out) as aside:
        _write(bag, layout, aside, options, conversion, on_episode)
    return conversion


def survey(bag: Bag, layout: Layout, options: Options) -> Conversion:
    """The first pass: what would be written. Raises BagError as `convert`."""
    if layout.rate not in (0, options.rate):
        raise BagError(
            f"rate is {options.rate} Hz, but actions are deltas per control step at {layout.rate} Hz: at another rate "
            "they would lead elsewhere; name topics of poses in a --mapping"
        )
    timelines = _timelines(bag, layout)
    for topic in layout.topics:
        if not len(timelines[topic]):
            raise BagError(f"{bag.path}: topic {topic} has no message with a usable stamp")
    segments = layout.segments(timelines)
    spans = [(segment.start, segment.end) for segment in segments]
    offset = options.offset
    if offset is None:
        offset = best_offset(timelines[layout.pace], spans, options.rate)
    max_age = layout.max_age if options.max_age is None else options.max_age
    shown = {topic: timelines[topic] for topic in layout.topics}
    episodes = [_planned(layout, segment, shown, options.rate, offset, max_age) for segment in segments]
    written, skipped = [e for e in episodes if not e.faults], [e for e in episodes if e.faults]
    if skipped and (options.on_fault == "fail" or not written):
        faults = "\n".join(f"  {e.segment.name}: {fault}" for e in skipped for fault in e.faults)
        raise BagError(f"{bag.path}: {len(skipped)} of {len(episodes)} episodes have faults:\n{faults}")
    if not written:
        raise BagError(f"{bag.path}: no episode in it")
    return Conversion(shown, written, skipped, offset, max_age)


def _planned(
    layout: Layout, segment: Segment, timelines: dict[str, Timeline], rate: float, offset: float, max_age: float
) -> Episode:
    episode = plan_episode(segment, timelines, rate, offset, max_age, layout.following, layout.pace)
    return episode if episode.faults else replace(episode, faults=layout.faults(episode, timelines))


def _timelines(bag: Bag, layout: Layout) -> dict[str, Timeline]:
    topics = (*layout.topics, *layout.watched)
    for topic in topics:
        if not layout.receipt and not bag.stamped(topic):
            raise BagError(f"{bag.path}: messages of {topic} have no header; choose `time: receipt` for all topics")
    stamps: dict[str, list[int]] = {topic: [] for topic in topics}
    for raw in bag.raw(topics):
        layout.watch(bag, raw)
        stamps[raw.topic].append(raw.receipt if layout.receipt else header_stamp(raw))
    return {topic: Timeline.of(found) for topic, found in stamps.items()}


def _write(
    bag: Bag,
    layout: Layout,
    folder: Path,
    options: Options,
    conversion: Conversion,
    on_episode: Callable[[int, int], None],
) -> None:
    writer: DatasetWriter | None = None
    episodes = conversion.written
    try:
        frames = _frames(bag, layout, conversion)
        for done, episode in enumerate(episodes):
            for _ in range(len(episode)):
                values, stamps = next(frames)
                if writer is None:
                    features = layout.features(values) | {key: _stamp_feature() for key in stamps}
                    writer = DatasetWriter.create(folder, options.rate, options.robot_type, features, options.codec)
                writer.add_frame(layout.frame(values) | stamps, options.instruction)
            writer.save_episode(layout.last(episode.segment.success))
            on_episode(done + 1, len(episodes))
    finally:
        if writer is not None:
            writer.close()


def _stamp_feature() -> dict[str, Any]:
    return {"dtype": "int64", "shape": [1], "names": ["nanoseconds"]}


def _frames(bag: Bag, layout: Layout, conversion: Conversion) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The second pass: values and raw stamps of every frame in turn; a message is kept as long as frames need it."""
    wanted = [keys for episode in conversion.written for keys in _keys(episode)]
    uses = Counter(key for keys in wanted for key in keys)
    stamps = {t: dict(zip(line.numbers.tolist(), line.stamps.tolist())) for t, line in conversion.timelines.items()}
    columns = layout.stamp_columns
    held: dict[Key, Any] = {}
    at = 0
    for raw in bag.raw(layout.topics):
        key = (raw.topic, raw.number)
        if key not in uses:
            continue
        held[key] = layout.read(bag, raw)
        while at < len(wanted) and all(k in held for k in wanted[at]):
            keys = wanted[at]
            at += 1
            yield (
                {topic: held[topic, number] for topic, number in keys},
                {columns[t]: np.array([stamps[t][n]], dtype=np.int64) for t, n in keys if t in columns},
            )
            _release(keys, uses, held)
    if at < len(wanted):
        raise BagError(f"{bag.path}: {len(wanted) - at} frames lack a message that was there before: does it grow?")


def _keys(episode: Episode) -> Iterator[list[Key]]:
    for tick in range(len(episode)):
        yield [(topic, int(numbers[tick])) for topic, numbers in episode.picks.items()]


def _release(keys: list[Key], uses: Counter[Key], held: dict[Key, Any]) -> None:
    for key in keys:
        uses[key] -= 1
        if not uses[key]:
            del held[key]

"""One pass over a dataset, an episode in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlt_ros.data.check import (
    gripper_checks,
    lag,
    meta_checks,
    number_checks,
    picture_checks,
    rotation_checks,
    set_checks,
    time_checks,
)
from rlt_ros.data.check.cameras import CameraTrace, trace
from rlt_ros.data.check.checkpoint_check import CheckpointCheck
from rlt_ros.data.check.findings import ERROR, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.meaning import Meaning, without_mapping
from rlt_ros.data.check.tally import Tally
from rlt_ros.data.check.view import EpisodeView, view
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import COUNTED, cameras
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.stats import Stats, aggregate, vector_stats

EPISODE_CHECKS: tuple[Callable[[EpisodeView, Limits], Iterator[Finding]], ...] = (
    number_checks.short,
    time_checks.timestamps,
    time_checks.counters,
    time_checks.stamps,
    number_checks.wild,
    number_checks.jumps,
    number_checks.units,
    number_checks.frozen_state,
    rotation_checks.quaternions,
    gripper_checks.gripper,
    picture_checks.missing,
    picture_checks.blank,
    picture_checks.frozen,
    picture_checks.repeated,
    picture_checks.same_cameras,
)


@dataclass
class Survey:
    """What was found. checkpoint: None where none was named. pictures: whether they were decoded."""

    reader: DatasetReader
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    checkpoint: CheckpointCheck | None = None
    pictures: bool = True


def survey(
    reader: DatasetReader,
    meaning: Meaning | None,
    limits: Limits,
    checkpoint: Path | None = None,
    pictures: bool = True,
    progress: Callable[[int], None] = lambda done: None,
) -> Survey:
    """Check a dataset. meaning: None where the columns' meaning is not known. pictures: whether to decode them.
    progress: told after every episode how many are done. Raises ValueError for a checkpoint that cannot be read."""
    result = Survey(reader, pictures=pictures)
    result.checkpoint = CheckpointCheck(checkpoint, limits) if checkpoint else None
    result.findings += meaning.problems if meaning else without_mapping(reader.features)
    result.findings += meta_checks.files(reader)
    actual: list[dict[str, Stats]] = []
    for index in range(len(reader)):
        actual += _episode(result, index, meaning, limits)
        progress(index + 1)
    result.findings += _together(result, actual, meaning, limits)
    return result


def _episode(result: Survey, index: int, meaning: Meaning | None, limits: Limits) -> list[dict[str, Stats]]:
    """Look at one episode; returns its statistics, or nothing where they cannot be made."""
    try:
        episode = result.reader.episode(index)
    except DatasetError as error:
        if result.reader.episodes[index].data.is_file():
            result.findings.append(Finding(ERROR, "table", str(error), "", index, column="data"))
        return []
    strange = list(number_checks.not_finite(episode))
    seen = view(episode, result.reader.fps, meaning, finite=not strange)
    seen.cameras = _traces(episode, limits) if result.pictures else {}
    result.findings += [*strange, *seen.problems, *meta_checks.tasks(episode)]
    for check in EPISODE_CHECKS:
        result.findings += check(seen, limits)
    result.tally.add(seen, limits)
    if result.checkpoint is not None:
        result.checkpoint.add(seen.state)
    return [] if strange else [_stats(episode)]


def _traces(episode: Episode, limits: Limits) -> dict[str, CameraTrace]:
    """A file that is not there was reported when the files were looked for."""
    spans = episode.record.videos
    there = [key for key in cameras(episode.features) if key not in spans or spans[key].path.is_file()]
    return {key: trace(episode, key, limits) for key in there}


def _stats(episode: Episode) -> dict[str, Stats]:
    return {key: vector_stats(values) for key, values in episode.arrays.items() if key not in COUNTED}


def _together(
    result: Survey, actual: list[dict[str, Stats]], meaning: Meaning | None, limits: Limits
) -> Iterator[Finding]:
    reader, tally = result.reader, result.tally
    known = {(f.code, f.episode, f.column) for f in result.findings}
    yield from (f for f in meta_checks.picture_counts(reader) if (f.code, f.episode, f.column) not in known)
    yield from set_checks.constant(tally, meaning.mapping.state.absent if meaning else ())
    for check in (set_checks.constant_in_one, set_checks.outliers, set_checks.swapped):
        yield from check(tally, limits)
    lost = {finding.episode for finding in result.findings if finding.code == "gripper-labels"}
    yield from (f for f in set_checks.gripper_others(tally, limits) if f.episode not in lost)
    yield from set_checks.twice(tally)
    yield from set_checks.outcomes(tally)
    yield from lag.lag([episode.lag for episode in tally.episodes], reader.fps, limits)
    # Statistics of a part of the episodes say nothing about those of all.
    if len(actual) == len(reader) > 0:
        yield from meta_checks.stats(reader, aggregate(actual), limits)
        yield from meta_checks.norm_stats(reader)
    if not len(reader):
        yield Finding(ERROR, "empty", "no episode", "at least one")
    if result.checkpoint is not None:
        yield from result.checkpoint.findings(tally, meaning)

"""What meta/ says against what is in the data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.signals import elements
from rlt_ros.data.lerobot.decoder import picture_count
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features
from rlt_ros.data.lerobot.hashing import dataset_hash
from rlt_ros.data.lerobot.layouts import EpisodeRecord
from rlt_ros.data.lerobot.norm_stats import DatasetNorm
from rlt_ros.data.lerobot.norm_stats_cli import NAME
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.stats import Stats

COMPARED = ("min", "max", "mean", "std")


def files(reader: DatasetReader) -> Iterator[Finding]:
    """Files that meta/ names and that are not there, once each, at the first episode that needs it."""
    seen: set[Path] = set()
    for record in reader.episodes:
        for column, path in (("data", record.data), *((key, span.path) for key, span in record.videos.items())):
            if path not in seen and not path.is_file():
                found, expected = f"no file {path.relative_to(reader.root)}", "meta/ names it"
                yield Finding(ERROR, "file-missing", found, expected, record.index, None, column)
            seen.add(path)


def picture_counts(reader: DatasetReader) -> Iterator[Finding]:
    """Videos with fewer pictures than frames (report B25); more do no harm, but somebody should know."""
    wanted: dict[Path, list[EpisodeRecord]] = defaultdict(list)
    keys: dict[Path, str] = {}
    for record in reader.episodes:
        for key, span in record.videos.items():
            wanted[span.path].append(record)
            keys[span.path] = key
    for path, records in wanted.items():
        if path.is_file():
            yield from _count(reader.root, path, keys[path], records)


def tasks(episode: Episode) -> Iterator[Finding]:
    """Every frame has the same instruction, and one that is not empty."""
    try:
        found = dict.fromkeys(episode.tasks)
    except DatasetError as error:
        yield Finding(ERROR, "task", str(error), "an instruction", episode.index, column="task_index")
        return
    if not all(isinstance(text, str) and text.strip() for text in found):
        yield Finding(
            ERROR, "task", f"empty instruction {list(found)}", "the task in words", episode.index, column="task_index"
        )
    elif len(found) > 1:
        yield Finding(ERROR, "task", f"{list(found)}", "one instruction an episode", episode.index, column="task_index")


def stats(reader: DatasetReader, actual: Mapping[str, Stats], limits: Limits) -> Iterator[Finding]:
    """Statistics that were made from other data, and those that are not there (report B23)."""
    try:
        known = reader.stats
    except (OSError, ValueError, KeyError, AttributeError) as error:
        yield Finding(ERROR, "stats", f"cannot be read: {error}", "statistics of every feature")
        return
    lacking = sorted(key for key in actual if key not in known)
    if lacking:
        found = f"none for {', '.join(lacking)}"
        yield Finding(WARNING, "stats-missing", found, "LeRobot's training needs them; Stage 1 makes its own")
    for key in actual:
        if key in known:
            yield from _compare(key, known[key], actual[key], reader.features, limits)
    old = [key for key in actual if key in known and "q01" not in known[key]]
    if old:
        found, expected = f"no quantiles for {', '.join(old)}", "`rlt norm-stats` makes them"
        yield Finding(WARNING, "stats-quantiles", found, expected)


def norm_stats(reader: DatasetReader) -> Iterator[Finding]:
    """Statistics that `rlt norm-stats` left and that are of another content (report A26)."""
    path = reader.root / NAME
    if not path.exists():
        return
    try:
        found, expected = DatasetNorm.load(path).dataset, dataset_hash(reader)
    except (DatasetError, json.JSONDecodeError) as error:
        yield Finding(ERROR, "norm-stats", str(error), "statistics of this dataset", column=str(NAME))
        return
    if found != expected:
        what = f"{expected[:12]}..; run `rlt norm-stats` again"
        yield Finding(ERROR, "norm-stats", f"made from dataset {found[:12]}..", what, column=str(NAME))


def _count(root: Path, path: Path, key: str, records: list[EpisodeRecord]) -> Iterator[Finding]:
    frames, name = sum(record.length for record in records), path.relative_to(root)
    try:
        pictures = picture_count(path)
    except DatasetError as error:
        yield Finding(ERROR, "picture-missing", str(error), f"{frames} pictures", records[0].index, None, key)
        return
    if pictures != frames:
        severity, code = (ERROR, "picture-missing") if pictures < frames else (WARNING, "picture-extra")
        place = (records[-1].index, None, key)
        yield Finding(severity, code, f"{pictures} pictures in {name}", f"{frames} frames", *place)


def _compare(key: str, known: Stats, actual: Stats, features: Features, limits: Limits) -> Iterator[Finding]:
    """The first statistic of a feature that differs, at the dimension where it does so most."""
    names = elements(features[key], key, actual["mean"].size)
    allowed = limits.stats_share * actual["std"] + 1e-5 * np.abs(actual["mean"]) + 1e-9
    for name in COMPARED:
        theirs, ours = (np.asarray(part[name], dtype=np.float64).ravel() for part in (known, actual))
        if theirs.shape != ours.shape:
            yield Finding(ERROR, "stats", f"{name} of {theirs.size} numbers in meta/", f"{ours.size}", column=key)
            return
        worst = int(np.argmax(np.abs(theirs - ours) / allowed))
        if abs(theirs[worst] - ours[worst]) > allowed[worst]:
            found, expected = f"{name} {theirs[worst]:.6g} in meta/", f"{ours[worst]:.6g} in the data"
            yield Finding(ERROR, "stats", found, expected, column=names[worst])
            return

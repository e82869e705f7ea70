"""Where the versions of the format keep what: v2.1 has files for every episode, v3.0 has several episodes in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import cameras
from rlt_ros.data.lerobot.info import Info
from rlt_ros.data.lerobot.meta import read_episodes, read_tasks
from rlt_ros.data.lerobot.stats import Stats, aggregate, from_lists


@dataclass(frozen=True)
class VideoSpan:
    """Part of a video file: the episode's time 0 is at `start` (s) of the file."""

    path: Path
    start: float


@dataclass(frozen=True)
class EpisodeRecord:
    """What meta/ says of an episode before its frames are read. data: file with its rows, perhaps among others."""

    index: int
    length: int
    tasks: tuple[str, ...]
    data: Path
    videos: dict[str, VideoSpan]


@dataclass(frozen=True)
class Layout:
    """Episodes in the order of their indices, tasks in the order of theirs."""

    episodes: list[EpisodeRecord]
    tasks: dict[int, str]


def read_layout(root: Path, info: Info) -> Layout:
    """Episodes and tasks of a dataset. Raises DatasetError naming its version and those that can be read."""
    return _of(_LAYOUTS, root, info)(root, info)


def read_stats(root: Path, info: Info) -> dict[str, Stats]:
    """Statistics by feature, as the dataset has them; older ones lack quantiles, some have none at all."""
    return _of(_STATS, root, info)(root)


def _of(table: dict[str, Callable], root: Path, info: Info) -> Callable:
    if info.codebase_version not in table:
        raise DatasetError(f"{root}: version {info.codebase_version}; versions {' and '.join(table)} can be read")
    return table[info.codebase_version]


def _layout_v30(root: Path, info: Info) -> Layout:
    rows = read_episodes(root)[: info.total_episodes]
    if [row["episode_index"] for row in rows] != list(range(info.total_episodes)):
        raise DatasetError(f"{root}/meta/episodes: {len(rows)} episodes; info.json has {info.total_episodes}")
    return Layout([_record_v30(root, info, row) for row in rows], dict(enumerate(read_tasks(root))))


def _record_v30(root: Path, info: Info, row: dict[str, Any]) -> EpisodeRecord:
    def path(prefix: str, template: str, **words: str) -> Path:
        place = {name: row[f"{prefix}/{name}"] for name in ("chunk_index", "file_index")}
        return root / template.format(**place, **words)

    try:
        spans = {
            key: VideoSpan(
                path(f"videos/{key}", info.video_path or "", video_key=key), row[f"videos/{key}/from_timestamp"]
            )
            for key in cameras(info.features, "video")
        }
        data = path("data", info.data_path)
        return EpisodeRecord(row["episode_index"], row["length"], tuple(row["tasks"]), data, spans)
    except KeyError as error:
        raise DatasetError(f"{root}/meta/episodes: no column {error} for episode {row['episode_index']}") from error


def _layout_v21(root: Path, info: Info) -> Layout:
    rows = sorted(_lines(root / "meta/episodes.jsonl"), key=lambda row: row["episode_index"])
    if [row["episode_index"] for row in rows] != list(range(info.total_episodes)):
        raise DatasetError(f"{root}/meta/episodes.jsonl: {len(rows)} episodes; info.json has {info.total_episodes}")
    tasks = {row["task_index"]: row["task"] for row in _lines(root / "meta/tasks.jsonl")}
    return Layout([_record_v21(root, info, row) for row in rows], tasks)


def _record_v21(root: Path, info: Info, row: dict[str, Any]) -> EpisodeRecord:
    index = row["episode_index"]
    place = {"episode_chunk": index // info.chunks_size, "episode_index": index}
    videos = cameras(info.features, "video")
    spans = {key: VideoSpan(root / (info.video_path or "").format(**place, video_key=key), 0.0) for key in videos}
    data = root / info.data_path.format(**place)
    return EpisodeRecord(index, row["length"], tuple(row["tasks"]), data, spans)


def _stats_v30(root: Path) -> dict[str, Stats]:
    path = root / "meta/stats.json"
    return from_lists(json.loads(path.read_text())) if path.exists() else {}


def _stats_v21(root: Path) -> dict[str, Stats]:
    path = root / "meta/episodes_stats.jsonl"
    return aggregate([from_lists(row["stats"]) for row in _lines(path)]) if path.exists() else {}


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


_LAYOUTS: dict[str, Callable[[Path, Info], Layout]] = {"v2.1": _layout_v21, "v3.0": _layout_v30}
_STATS: dict[str, Callable[[Path], dict[str, Stats]]] = {"v2.1": _stats_v21, "v3.0": _stats_v30}

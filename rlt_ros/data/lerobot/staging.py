"""The files that an episode adds to a dataset or changes there, complete but still aside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlt_ros.data.lerobot.commit import STATS
from rlt_ros.data.lerobot.extras import pa, pq
from rlt_ros.data.lerobot.features import cameras
from rlt_ros.data.lerobot.info import EPISODES_PATH, INFO, Info
from rlt_ros.data.lerobot.meta import TASKS, write_tasks
from rlt_ros.data.lerobot.pending import TABLE, PendingEpisode
from rlt_ros.data.lerobot.stats import Stats, aggregate, from_lists, to_lists

EPISODES_A_FILE = 500
"""Rows of a file below meta/episodes; such a file is written anew with every episode."""

Row = dict[str, Any]


def stage(root: Path, pending: PendingEpisode, tasks: Sequence[str], last: Mapping[str, Any]) -> list[Path]:
    """Complete an episode's files under the names that they shall have below the dataset; returns those names.

    They stand in the order in which they may appear there, info.json at the end. last: row of the newest episode in
    the dataset, empty where there is none.
    """
    info, stats = Info.load(root), pending.finish()
    row = _row(pending, info, stats)
    names = []
    for prefix, file, template in _own_files(pending, info):
        place = info.place(_number(info, last, prefix) + 1)
        names.append(_moved(pending.folder, file, Path(template.format(**place))))
        row |= _prefixed(prefix, place)
    info.total_episodes += 1
    info.total_frames += len(pending)
    info.total_tasks = len(tasks)
    info.splits = {"train": f"0:{info.total_episodes}"}
    return names + _write_meta(root, pending.folder, info, tasks, stats) + [_write_row(root, pending, row, last), INFO]


def _own_files(pending: PendingEpisode, info: Info) -> list[tuple[str, str, str]]:
    """Prefix of the columns in the episode's row, name as it is now and template of the path, a file."""
    videos = [
        (f"videos/{key}", pending.video(key).name, (info.video_path or "").replace("{video_key}", key))
        for key in cameras(info.features, "video")
    ]
    return [("data", TABLE, info.data_path), *videos]


def _row(pending: PendingEpisode, info: Info, stats: dict[str, Stats]) -> Row:
    start = info.total_frames
    row: Row = {
        "episode_index": info.total_episodes,
        "tasks": list(dict.fromkeys(pending.tasks)),
        "length": len(pending),
        "dataset_from_index": start,
        "dataset_to_index": start + len(pending),
    }
    for key in cameras(info.features, "video"):
        row |= _prefixed(f"videos/{key}", {"from_timestamp": 0.0, "to_timestamp": len(pending) / info.fps})
    return row | {f"stats/{key}/{name}": v for key, part in to_lists(stats).items() for name, v in part.items()}


def _number(info: Info, row: Mapping[str, Any], prefix: str) -> int:
    """Running number of the file that a row names, -1 where there is no row."""
    return info.number(row[f"{prefix}/chunk_index"], row[f"{prefix}/file_index"]) if row else -1


def _moved(folder: Path, name: str, path: Path) -> Path:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).rename(folder / path)
    return path


def _write_meta(root: Path, folder: Path, info: Info, tasks: Sequence[str], stats: dict[str, Stats]) -> list[Path]:
    write_tasks(tasks, folder / TASKS)
    info.save(folder)
    known = root / STATS
    parts = [from_lists(json.loads(known.read_text()))] if known.exists() else []
    (folder / STATS).write_text(json.dumps(to_lists(aggregate([*parts, stats])), indent=4))
    return [TASKS, STATS]


def _write_row(root: Path, pending: PendingEpisode, row: Row, last: Mapping[str, Any]) -> Path:
    """The newest file of episodes with one row more, or a new file where it is full or of another make."""
    info = Info.load(root)
    number = max(0, _number(info, last, "meta/episodes"))
    old = pq.ParquetFile(root / _episodes_path(info, number)).read() if last else None
    if old is not None and (len(old) >= EPISODES_A_FILE or set(old.column_names) != {*row, *_prefixed_place()}):
        number, old = number + 1, None
    path = _episodes_path(info, number)
    new = pa.Table.from_pylist([row | _prefixed("meta/episodes", info.place(number))])
    if old is not None:
        new = pa.concat_tables([old, new.select(old.column_names).cast(old.schema)])
    (pending.folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(new, pending.folder / path)
    return path


def _episodes_path(info: Info, number: int) -> Path:
    return Path(EPISODES_PATH.format(**info.place(number)))


def _prefixed(prefix: str, values: Mapping[str, Any]) -> Row:
    return {f"{prefix}/{name}": value for name, value in values.items()}


def _prefixed_place() -> Row:
    return _prefixed("meta/episodes", {"chunk_index": 0, "file_index": 0})

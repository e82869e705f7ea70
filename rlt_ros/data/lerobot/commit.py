"""How an episode becomes part of a dataset: files written aside are renamed into place, info.json as the last one.

LeRobot's loader takes the number of episodes and frames from info.json and reaches nothing beyond them, so until that
last rename the dataset is the one before, and after it the one with the episode. What an interruption before it has
left behind is cleared by `recover`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlt_ros.data.lerobot.extras import pq
from rlt_ros.data.lerobot.features import cameras
from rlt_ros.data.lerobot.info import Info
from rlt_ros.data.lerobot.meta import TASKS, episode_files, read_episodes, read_tasks, row_stats, write_tasks
from rlt_ros.data.lerobot.stats import aggregate, to_lists
from rlt_ros.files import remove, sync, write_whole, written_aside

PARTIAL = ".partial"
"""Folder in the dataset for what is being written. The loader looks into data/, videos/ and meta/ only."""
STATS = Path("meta/stats.json")
_PLACE = re.compile(r"chunk-(\d+)/file-(\d+)\.\w+$")


def publish(root: Path, folder: Path, names: Sequence[Path]) -> None:
    """Rename files from a folder to the same names below the dataset, in this order, each safe before the next."""
    for name in names:
        sync(folder / name)
    for name in names:
        parent = (root / name).parent
        _make(parent)
        os.replace(folder / name, root / name)
        sync(parent)


def recover(root: Path, info: Info) -> None:
    """Remove what an interrupted episode left. The dataset is valid before, after, and wherever this is interrupted.

    The files without an episode go last: as long as they are there, the rest is done again.
    """
    rows = read_episodes(root)
    unclaimed = _unclaimed(root, info, rows[: info.total_episodes])
    if unclaimed or len(rows) > info.total_episodes:
        _renew_stats(root, info)
        tasks = read_tasks(root)
        if len(tasks) > info.total_tasks:
            with written_aside(root / TASKS) as aside:
                write_tasks(tasks[: info.total_tasks], aside)
        _cut_episodes(root, info)
        for path in unclaimed:
            remove(path)
    remove(root / PARTIAL)


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def _unclaimed(root: Path, info: Info, rows: Sequence[dict[str, Any]]) -> list[Path]:
    """Files of data and videos with a higher number than the committed episodes have."""
    found = _beyond(root / "data", info, rows, "data")
    for key in cameras(info.features, "video"):
        found += _beyond(root / "videos" / key, info, rows, f"videos/{key}")
    return found


def _beyond(folder: Path, info: Info, rows: Sequence[dict[str, Any]], prefix: str) -> list[Path]:
    last = max((info.number(r[f"{prefix}/chunk_index"], r[f"{prefix}/file_index"]) for r in rows), default=-1)
    places = {path: _PLACE.search(path.as_posix()) for path in folder.glob("chunk-*/file-*.*")}
    return [path for path, place in places.items() if place and info.number(*map(int, place.groups())) > last]


def _cut_episodes(root: Path, info: Info) -> None:
    for path in episode_files(root):
        table = pq.ParquetFile(path).read()
        kept = [i for i, number in enumerate(table["episode_index"].to_pylist()) if number < info.total_episodes]
        if not kept:
            remove(path)
        elif len(kept) < len(table):
            with written_aside(path) as aside:
                pq.write_table(table.take(kept), aside)


def _renew_stats(root: Path, info: Info) -> None:
    """Statistics of the dataset from those of its episodes, where every one of them has its own."""
    parts = [row_stats(row) for row in read_episodes(root, stats=True)[: info.total_episodes]]
    if not parts:
        remove(root / STATS)
    elif all(parts):
        write_whole(root / STATS, json.dumps(to_lists(aggregate(parts)), indent=4).encode())

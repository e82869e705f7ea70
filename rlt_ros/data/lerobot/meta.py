"""The tables below meta/: tasks, and one row for every episode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import pa, pq
from rlt_ros.data.lerobot.stats import Stats, from_lists

TASKS = Path("meta/tasks.parquet")
EPISODES = Path("meta/episodes")


def write_tasks(tasks: Sequence[str], path: Path) -> None:
    """Write tasks in the order of their indices. LeRobot reads the file with pandas and wants the text as its index."""
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(tasks, pa.string())})
    described = {
        "index_columns": ["task"],
        "column_indexes": [{"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object"}],
        "columns": [_pandas_column("task_index", "int64", "int64"), _pandas_column("task", "unicode", "object")],
        "pandas_version": "2.3.0",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(described)}), path)


def read_tasks(root: Path) -> list[str]:
    """Tasks of a v3.0 dataset in the order of their indices; empty where there are none."""
    path = root / TASKS
    if not path.exists():
        return []
    rows = _read(path).to_pylist()
    texts = [name for name in (rows[0] if rows else {}) if name != "task_index"]
    if rows and len(texts) != 1:
        raise DatasetError(f"{path}: columns {sorted(rows[0])}; expected task_index and the text")
    by_index = {int(row["task_index"]): row[texts[0]] for row in rows}
    if sorted(by_index) != list(range(len(rows))):
        raise DatasetError(f"{path}: task_index {sorted(by_index)}; expected 0 to {len(rows) - 1}")
    return [by_index[index] for index in range(len(rows))]


def episode_files(root: Path) -> list[Path]:
    """The files with the rows of episodes, in their order."""
    return sorted((root / EPISODES).glob("chunk-*/file-*.parquet"))


def read_episodes(root: Path, stats: bool = False) -> list[dict[str, Any]]:
    """Rows of all episodes, in the order of episode_index, without the columns of statistics unless asked for."""
    rows: list[dict[str, Any]] = []
    for path in episode_files(root):
        names = _names(path)
        rows += _read(path, [name for name in names if stats or not name.startswith("stats/")]).to_pylist()
    return sorted(rows, key=lambda row: row["episode_index"])


def row_stats(row: dict[str, Any]) -> dict[str, Stats]:
    """The statistics in an episode's row, by feature."""
    found: dict[str, dict[str, list]] = {}
    for name, value in row.items():
        if name.startswith("stats/") and value is not None:
            key, stat = name.removeprefix("stats/").rsplit("/", 1)
            found.setdefault(key, {})[stat] = value
    return from_lists(found)


def _pandas_column(name: str, pandas_type: str, numpy_type: str) -> dict[str, Any]:
    return {
        "name": name,
        "field_name": name,
        "pandas_type": pandas_type,
        "numpy_type": numpy_type,
        "metadata": None,
    }


def _names(path: Path) -> list[str]:
    try:
        return pq.read_schema(path).names
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


def _read(path: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        return pq.ParquetFile(path).read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error

"""The episode in progress: its files are written aside, below the dataset but where no loader looks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.lerobot import png
from rlt_ros.data.lerobot.arrow import column, schema
from rlt_ros.data.lerobot.encoder import VideoEncoder
from rlt_ros.data.lerobot.extras import pa, pq
from rlt_ros.data.lerobot.features import COUNTED, cameras, numbers, picture_shape
from rlt_ros.data.lerobot.info import Info
from rlt_ros.data.lerobot.stats import PictureStats, Stats, vector_stats

FLUSH = 32 << 20
"""Bytes of encoded pictures that are kept in memory before they are written."""
TABLE = "data.parquet"


class PendingEpisode:
    """Takes frames; `finish` leaves `data.parquet` and `<camera>.mp4` in the folder.

    Numbers stay in memory until then, pictures do not. The last frame is never written before `finish`: its numbers
    may still be changed.
    """

    def __init__(self, folder: Path, info: Info, codec: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.tasks: list[str] = []
        self._info = info
        self._rows: dict[str, list[Any]] = {key: [] for key in info.features}
        self._written = self._bytes = 0
        self._schema = schema(info.features)
        self._table: pq.ParquetWriter | None = None
        self._pixels = {key: PictureStats() for key in cameras(info.features)}
        self._videos = {key: self._encoder(key, codec) for key in cameras(info.features, "video")}

    def __len__(self) -> int:
        return len(self.tasks)

    def add(self, frame: Mapping[str, np.ndarray | str], task: str, task_index: int) -> None:
        """Append a frame that fits the features."""
        step = len(self)
        for key, value in (dict(frame) | self._counted(step, task_index)).items():
            self._rows[key].append(self._kept(key, value, step))
        self.tasks.append(task)
        if self._bytes > FLUSH and step > self._written:
            self._flush(step)

    def change_last(self, values: Mapping[str, np.ndarray]) -> None:
        """Replace numbers of the last frame."""
        for key, value in values.items():
            self._rows[key][-1] = value

    def finish(self) -> dict[str, Stats]:
        """Complete the files; returns the episode's statistics by feature."""
        self._flush(len(self))
        if self._table is not None:
            self._table.close()
        for video in self._videos.values():
            video.close()
        stats = {key: vector_stats(np.stack(self._rows[key])) for key in numbers(self._info.features)}
        return stats | {key: pixels.result() for key, pixels in self._pixels.items()}

    def abandon(self) -> None:
        """Let go of the files; whoever owns the folder removes it."""
        for video in self._videos.values():
            video.abandon()
        try:
            if self._table is not None:
                self._table.close()
        except OSError:
            pass

    def video(self, key: str) -> Path:
        """The file of a video feature."""
        return self.folder / f"{key}.mp4"

    def _counted(self, step: int, task_index: int) -> dict[str, np.ndarray]:
        values = {
            "timestamp": step / self._info.fps,
            "frame_index": step,
            "episode_index": self._info.total_episodes,
            "index": self._info.total_frames + step,
            "task_index": task_index,
        }
        return {key: np.array([value], dtype=COUNTED[key]["dtype"]) for key, value in values.items()}

    def _kept(self, key: str, value: Any, step: int) -> Any:
        """What stands in the row: the value, a picture as PNG, nothing for a video."""
        dtype = self._info.features[key]["dtype"]
        if key in self._pixels:
            self._pixels[key].add(value)
        if dtype == "video":
            self._videos[key].add(value)
            return None
        if dtype == "image":
            data = png.encode(value)
            self._bytes += len(data)
            return {"bytes": data, "path": f"frame-{step:06d}.png"}
        return value if isinstance(value, str) else np.array(value)

    def _flush(self, end: int) -> None:
        if self._table is None:
            self._table = pq.ParquetWriter(self.folder / TABLE, self._schema)
        rows = {name: self._rows[name][self._written : end] for name in self._schema.names}
        columns = [column(self._info.features[name], values) for name, values in rows.items()]
        self._table.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        for key in cameras(self._info.features, "image"):
            self._rows[key][self._written : end] = [None] * (end - self._written)
        self._written, self._bytes = end, 0

    def _encoder(self, key: str, codec: str) -> VideoEncoder:
        height, width, _ = picture_shape(self._info.features[key])
        return VideoEncoder(self.video(key), self._info.fps, height, width, codec)

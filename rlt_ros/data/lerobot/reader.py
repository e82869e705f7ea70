"""Read LeRobot datasets, versions 2.1 and 3.0, an episode at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from rlt_ros.data.lerobot.decoder import picture_count
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features
from rlt_ros.data.lerobot.info import Info
from rlt_ros.data.lerobot.layouts import EpisodeRecord, read_layout, read_stats
from rlt_ros.data.lerobot.stats import Stats


class DatasetReader:
    """A dataset on disk; only meta/ is read until an episode is asked for. Iterating gives the episodes in order.

    Raises DatasetError, naming the file and both values, on another version or where meta/ does not agree with itself.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self.info = Info.load(self.root)
        layout = read_layout(self.root, self.info)
        self.episodes: list[EpisodeRecord] = layout.episodes
        self.tasks: dict[int, str] = layout.tasks
        """Instruction by task_index."""
        frames = sum(record.length for record in self.episodes)
        if frames != self.info.total_frames:
            raise DatasetError(f"{self.root}: {frames} frames in all episodes; info.json has {self.info.total_frames}")

    def __len__(self) -> int:
        return len(self.episodes)

    def __iter__(self) -> Iterator[Episode]:
        return (self.episode(index) for index in range(len(self)))

    @property
    def version(self) -> str:
        """v2.1 or v3.0."""
        return self.info.codebase_version

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.info.fps

    @property
    def features(self) -> Features:
        """All features, the counted ones included."""
        return self.info.features

    @property
    def frames(self) -> int:
        """Frames of all episodes."""
        return self.info.total_frames

    @cached_property
    def stats(self) -> dict[str, Stats]:
        """Statistics by feature, as the dataset has them: over several episodes the quantiles are bounds only."""
        return read_stats(self.root, self.info)

    def episode(self, index: int) -> Episode:
        """Read the numbers of an episode. Raises DatasetError if there is no such one or its file is damaged."""
        if not 0 <= index < len(self):
            raise DatasetError(f"{self.root}: episode {index}; there are {len(self)}")
        return Episode(self.episodes[index], self.features, self.tasks)

    def values(self, key: str) -> np.ndarray:
        """A feature that holds numbers, over all frames: (N,) or (N, *shape)."""
        return np.concatenate([episode.arrays[key] for episode in self])

    def check_videos(self) -> None:
        """Raise DatasetError, naming the file and both numbers, where a video has fewer pictures than frames (B25).

        Only the files' indices are read. More pictures than frames do no harm.
        """
        wanted: Counter[Path] = Counter()
        for record in self.episodes:
            for span in record.videos.values():
                wanted[span.path] += record.length
        for path, frames in wanted.items():
            found = picture_count(path)
            if found < frames:
                raise DatasetError(f"{path}: {found} pictures for {frames} frames")

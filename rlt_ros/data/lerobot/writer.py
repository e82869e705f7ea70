"""Write LeRobot datasets, version 3.0, an episode at a time; whatever happens, what is on disk stays loadable."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np

from rlt_ros.data.lerobot.commit import PARTIAL, publish, recover
from rlt_ros.data.lerobot.encoder import check_codec, video_info
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import (
    COUNTED,
    Feature,
    Features,
    cameras,
    check_frame,
    check_value,
    compare_features,
    complete,
    numbers,
    picture_shape,
)
from rlt_ros.data.lerobot.info import VERSION, Info
from rlt_ros.data.lerobot.lock import DirectoryLock
from rlt_ros.data.lerobot.meta import read_episodes, read_tasks
from rlt_ros.data.lerobot.pending import PendingEpisode
from rlt_ros.data.lerobot.staging import stage
from rlt_ros.files import remove, written_aside

MIN_FREE = 200 << 20
"""Bytes that must be free on the disk when an episode starts (report B32): better refused then than lost later."""


class DatasetWriter:
    """Frames in, episodes out. A context manager; leaving it drops an episode that was not saved.

    Each episode has a data file and video files of its own, which are never touched again. A frame that is refused
    (DatasetError) changes nothing; if writing fails (OSError, Ctrl-C), the episode in progress is gone and the dataset
    is as before it. One process writes a dataset at a time, and of that one thread.
    """

    def __init__(self, root: Path, codec: str = "h264") -> None:
        """Use `create` or `open`."""
        check_codec(codec)
        self.root = root
        self._codec = codec
        self._lock = DirectoryLock(root)
        self._pending: PendingEpisode | None = None
        try:
            self._load()
        except BaseException:
            self._lock.release()
            raise

    @staticmethod
    def create(
        root: Path | str, fps: int, robot_type: str, features: Mapping[str, Feature], codec: str = "h264"
    ) -> DatasetWriter:
        """A new, empty dataset. The path must not exist yet.

        fps: control rate, Hz, a whole number. features: in LeRobot's form, `{"action": {"dtype": "float32", "shape":
        (7,), "names": [..]}, ..}`; cameras are of dtype "image" (PNG in the table, exact) or "video" (lossy, small)
        with shape (height, width, 3). codec: of videos, h264 or libsvtav1.
        """
        root = Path(root)
        if root.exists():
            raise FileExistsError(f"{root}: exists already; choose another directory or open it to append")
        if fps != int(fps) or fps < 1:
            raise DatasetError(f"fps is {fps}; LeRobot datasets need a positive whole number")
        check_codec(codec)
        described = complete(features)
        for key in cameras(described, "video"):
            height, width, _ = picture_shape(described[key])
            described[key]["info"] = video_info(int(fps), height, width, codec)
        with written_aside(root) as aside:
            Info(int(fps), described, robot_type).save(aside)
        return DatasetWriter(root, codec)

    @staticmethod
    def open(
        root: Path | str, fps: int | None = None, features: Mapping[str, Feature] | None = None, codec: str = "h264"
    ) -> DatasetWriter:
        """Append to a dataset; remains of an interrupted episode are cleared.

        Raises DatasetError naming both where the dataset is of another version, or has another fps or other features
        than are wanted.
        """
        writer = DatasetWriter(Path(root), codec)
        try:
            if fps is not None and fps != writer.fps:
                raise DatasetError(f"fps: {fps} wanted, {writer.fps} in {root}")
            if features is not None:
                compare_features(complete(features), complete(writer.features))
        except BaseException:
            writer.close()
            raise
        return writer

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self._info.fps

    @property
    def features(self) -> Features:
        """All features, the counted ones included."""
        return self._info.features

    @property
    def episodes(self) -> int:
        """Saved episodes."""
        return self._info.total_episodes

    @property
    def frames(self) -> int:
        """Frames of the episode in progress."""
        return len(self._pending) if self._pending else 0

    def add_frame(self, frame: Mapping[str, np.ndarray | str], task: str) -> None:
        """Append a frame: a value for every feature that is not counted. Starts an episode where there is none.

        task: the instruction, word for word. Raises DatasetError naming the feature, what it has and what is expected.
        """
        if not self._usable:
            raise DatasetError(f"{self.root}: an episode could not be cleared away; open the dataset again")
        check_frame(self._info.features, frame)
        if not task:
            raise DatasetError("task: empty; expected the instruction")
        try:
            if self._pending is None:
                self._check_space()
                self._pending = PendingEpisode(self.root / PARTIAL, self._info, self._codec)
            self._pending.add(frame, task, self._task_index(task))
        except BaseException:
            self._undo()
            raise

    def save_episode(self, last: Mapping[str, np.ndarray] | None = None) -> int:
        """Make the frames since the last episode an episode; returns its index.

        last: numbers of the last frame that are known only now, such as `next.success`.
        """
        if self._pending is None:
            raise DatasetError("save_episode: no frame was added")
        for key, value in (last or {}).items():
            if key in COUNTED or key not in numbers(self._info.features):
                raise DatasetError(f"last: {key!r} is no feature of the frame that holds numbers")
            check_value(key, self._info.features[key], value)
        try:
            self._pending.change_last(last or {})
            names = stage(self.root, self._pending, self._tasks, self._last)
            publish(self.root, self._pending.folder, names)
            self._load()
        except BaseException:
            self._undo()
            raise
        self._pending = None
        return self.episodes - 1

    def discard_episode(self) -> None:
        """Drop the frames since the last episode, if there are any; nothing is left of them."""
        if self._pending is not None:
            self._undo()

    def close(self) -> None:
        """Drop an episode that was not saved and let others write; may be called again."""
        self.discard_episode()
        self._lock.release()

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _load(self) -> None:
        self._info = Info.load(self.root)
        if self._info.codebase_version != VERSION:
            raise DatasetError(f"{self.root}: version {self._info.codebase_version}; only {VERSION} is written")
        recover(self.root, self._info)
        self._tasks = read_tasks(self.root)[: self._info.total_tasks]
        rows = read_episodes(self.root)
        self._last = rows[-1] if rows else {}
        self._usable = True

    def _check_space(self) -> None:
        free = shutil.disk_usage(self.root).free
        if free < MIN_FREE:
            wanted = f"{free >> 20} MB free, {MIN_FREE >> 20} MB wanted to start an episode"
            raise OSError(errno.ENOSPC, wanted, str(self.root))

    def _undo(self) -> None:
        """Back to what info.json says; where even that fails, as on a dead disk, the next `open` does it."""
        pending, self._pending, self._usable = self._pending, None, False
        if pending is not None:
            pending.abandon()
        remove(self.root / PARTIAL)
        self._load()

    def _task_index(self, task: str) -> int:
        if task not in self._tasks:
            self._tasks.append(task)
        return self._tasks.index(task)

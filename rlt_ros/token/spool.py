"""Pictures of all episodes in one file a camera, mapped instead of held in memory: an hour of them may be 20 GB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rlt_ros.data.demos import Demonstration, DemonstrationError
from rlt_ros.files import remove


class Spool:
    """Takes the pictures of episodes, in their order; what an earlier run left in the folder is replaced.

    writes: False in all but one of several processes, which take the same episodes and map what the one has written.
    """

    def __init__(self, folder: Path, writes: bool = True) -> None:
        self._folder, self._writes = folder, writes
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._files: dict[str, BinaryIO] = {}
        self._frames = 0

    def take(self, episode: Demonstration) -> Demonstration:
        """The same episode without its pictures. Raises DemonstrationError where cameras or sizes differ."""
        shapes = {name: pictures.shape[1:] for name, pictures in episode.images.items()}
        if not self._shapes:
            self._open(shapes)
        if shapes != self._shapes:
            raise DemonstrationError(f"images: {self._shapes} before, {shapes} in demonstration {episode.id}")
        for name, file in self._files.items():
            file.write(np.ascontiguousarray(episode.images[name]))
        self._frames += len(episode.actions)
        return replace(episode, images={})

    def close(self) -> None:
        """Nothing more will be taken."""
        for file in self._files.values():
            file.close()

    def pictures(self) -> dict[str, np.ndarray]:
        """Camera name to uint8 (N, h, w, 3), mapped, read only; after `close`, of the process that writes too."""
        shapes = {name: (self._frames, *shape) for name, shape in self._shapes.items()}
        return {name: np.memmap(self._path(name), np.uint8, "r", shape=shape) for name, shape in shapes.items()}

    def _open(self, shapes: dict[str, tuple[int, ...]]) -> None:
        self._shapes = shapes
        if self._writes:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name in shapes:
                remove(self._path(name))
            self._files = {name: self._path(name).open("wb") for name in shapes}

    def _path(self, camera: str) -> Path:
        return self._folder / f"{camera}.rgb"

"""A few pictures of the first and the last episodes of each part of a run, as strips in the run directory."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from rlt_ros.data.images import png

T = TypeVar("T")
FOLDER = "pictures"
FRAMES = 8
"""Pictures of each camera in a strip."""
GAP = 2
"""White pixels to the right of a picture and below it."""
KEEP = 3
"""Strips of the first and of the last episodes of each stage."""


class Thinned(Generic[T]):
    """Some of the many things that come one after the other, evenly spread and with the last one.

    most: so many can be chosen; twice as many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._kept: list[tuple[int, T]] = []
        self._last: tuple[int, T] | None = None
        self._count, self._every = 0, 1

    def add(self, number: int, thing: T) -> None:
        """Take one and what it is called by."""
        self._last = (number, thing)
        if self._count % self._every == 0:
            self._kept.append(self._last)
        self._count += 1
        if len(self._kept) > 2 * self._most:
            self._every *= 2
            self._kept = self._kept[::2]

    def chosen(self, most: int) -> list[tuple[int, T]]:
        """So many of them at most, with their numbers."""
        if self._last is None:
            return []
        pairs = self._kept if self._last is self._kept[-1] else [*self._kept, self._last]
        places = np.linspace(0, len(pairs) - 1, min(most, len(pairs))).round().astype(int)
        return [pairs[place] for place in places]


class StripFolder:
    """`pictures/` of a run directory: KEEP strips of each stage from its beginning stay, and the KEEP newest ones."""

    def __init__(self, run_dir: Path) -> None:
        self._folder = run_dir / FOLDER
        self._count: dict[str, int] = defaultdict(int)
        self._newest: dict[str, deque[Path]] = defaultdict(deque)

    def write(self, name: str, stage: str, pictures: Sequence[Mapping[str, np.ndarray]]) -> str:
        """Write pictures as a strip, a row for each camera; returns its path in the run directory. Raises OSError.

        pictures: camera -> uint8 (h, w, 3), all of one size, in their order.
        """
        path = self._folder / f"{name}.png"
        rows = [np.concatenate([_framed(p[camera]) for p in pictures], axis=1) for camera in pictures[0]]
        self._folder.mkdir(exist_ok=True)
        path.write_bytes(png(np.concatenate(rows)))
        self._keep(stage, path)
        return f"{FOLDER}/{path.name}"

    def _keep(self, stage: str, path: Path) -> None:
        self._count[stage] += 1
        if self._count[stage] <= KEEP:
            return
        newest = self._newest[stage]
        newest.append(path)
        if len(newest) > KEEP:
            newest.popleft().unlink(missing_ok=True)


def _framed(picture: np.ndarray) -> np.ndarray:
    return np.pad(picture, ((0, GAP), (0, GAP), (0, 0)), constant_values=255)

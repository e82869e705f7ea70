"""Numbers of an episode with the names that a person would look for in the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.features import element_names


@dataclass(frozen=True)
class Signals:
    """Vectors of T frames.

    columns: of each dimension its "column/element". names: our own names (`PROPRIO_NAMES`, `ACTION_NAMES`) where the
    meaning is known, values then in SI units or in the action space; else empty. values: float64 (T, n).
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    values: np.ndarray

    def of(self, names: Sequence[str]) -> np.ndarray:
        """Some dimensions by our own names, (T, k)."""
        return self.values[:, [self.names.index(name) for name in names]]

    def column(self, name: str) -> str:
        """Where a dimension of ours is kept."""
        return self.columns[self.names.index(name)]


def raw(episode: Episode, key: str) -> Signals:
    """A column of numbers as the dataset has it."""
    values = episode.arrays[key]
    flat = values.reshape(len(values), -1).astype(np.float64)
    return Signals(elements(episode.features[key], key, flat.shape[1]), (), flat)


def elements(feature: dict, key: str, width: int) -> tuple[str, ...]:
    """ "column/element" of a feature's numbers; of a scalar just its column."""
    names = element_names(feature) or [str(index) for index in range(width)]
    return (key,) if width == 1 else tuple(f"{key}/{name}" for name in names)

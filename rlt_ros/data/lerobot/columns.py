"""Elements of columns by name: "observation.state/x"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Feature, element_names, numbers


class Element:
    """One number a frame. An element without a name in the dataset is given by its index.

    Raises DatasetError naming what there is, if the dataset has no such column or element.
    """

    def __init__(self, path: str, features: Mapping[str, Feature]) -> None:
        self.column, _, name = path.partition("/")
        if self.column not in numbers(features):
            raise DatasetError(f"{path}: no column {self.column!r} of numbers; there are {numbers(features)}")
        feature = features[self.column]
        names = element_names(feature) or [str(index) for index in range(int(np.prod(feature["shape"])))]
        if name not in names and (name or len(names) > 1):
            raise DatasetError(f"{path}: no element {name!r} in {self.column}; there are {names}")
        self.index = names.index(name) if name in names else 0

    def of(self, episode: Episode) -> np.ndarray:
        """float64 (T,)."""
        values = episode.arrays[self.column]
        return values.reshape(len(values), -1)[:, self.index].astype(np.float64)


def stacked(elements: Sequence[Element], episode: Episode) -> np.ndarray:
    """Several elements, float64 (T, n)."""
    return np.stack([element.of(episode) for element in elements], axis=1)

"""Normalisation statistics of datasets, with the hash of what they were made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlt_ros.data.contract import compare
from rlt_ros.data.lerobot.demonstrations import DemonstrationSource
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.hashing import dataset_hash
from rlt_ros.data.norm import NormStats
from rlt_ros.files import write_whole
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES


@dataclass(frozen=True)
class DatasetNorm:
    """Statistics over the union of frames of one or several datasets.

    proprio: in SI units, the very ones that a Stage-1 checkpoint carries. action: in the action space. dataset: hash of
    the content (`hashing`); of several datasets, of their hashes in their order.
    """

    proprio: NormStats
    action: NormStats
    dataset: str
    episodes: int
    frames: int

    @staticmethod
    def of(sources: Sequence[DemonstrationSource]) -> DatasetNorm:
        """Every frame counts once. Raises DatasetError where there is none."""
        episodes = [episode for source in sources for episode in _vectors(source)]
        if not episodes:
            raise DatasetError(f"{', '.join(str(s.reader.root) for s in sources)}: no episode")
        proprio, actions = (np.concatenate(parts) for parts in zip(*episodes))
        hashes = [dataset_hash(source.reader) for source in sources]
        return DatasetNorm(
            NormStats.of(proprio, PROPRIO_NAMES),
            NormStats.of(actions, ACTION_NAMES),
            hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest(),
            len(episodes),
            len(proprio),
        )

    def check_dataset(self, found: str) -> None:
        """Raise ContractMismatch where a dataset's hash is another one than that of these statistics."""
        compare("dataset of the normalisation statistics", self.dataset, found)

    def save(self, path: Path) -> None:
        """Write JSON, whole or not at all."""
        counts = {"dataset": self.dataset, "episodes": self.episodes, "frames": self.frames}
        stats = {"proprio": self.proprio.to_dict(), "action": self.action.to_dict()}
        write_whole(path, (json.dumps(counts | stats, indent=1) + "\n").encode())

    @staticmethod
    def load(path: Path) -> DatasetNorm:
        """The inverse of `save`. Raises DatasetError with the file's name."""
        try:
            content = json.loads(path.read_text())
            stats = {name: NormStats.from_dict(content.pop(name)) for name in ("proprio", "action")}
            return DatasetNorm(**stats, **content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DatasetError(f"{path}: not the normalisation statistics of a dataset: {error}") from error


def _vectors(source: DemonstrationSource) -> list[tuple[np.ndarray, np.ndarray]]:
    return [source.vectors(episode) for episode in source.reader]

"""One episode of a dataset: its numbers at once, its pictures one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from rlt_ros.data.lerobot import png
from rlt_ros.data.lerobot.decoder import TOLERANCE, pictures_at
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import ds, pa
from rlt_ros.data.lerobot.features import Feature, cameras, numbers, picture_shape
from rlt_ros.data.lerobot.layouts import EpisodeRecord

BATCH = 16
"""Rows with pictures that are read at a time."""


class Episode:
    """T frames. Raises DatasetError, naming the file, where they cannot be read or their number is another one.

    record: what the dataset says of it. arrays: of every feature that holds numbers, (T,) for shape [1], else (T,
    *shape). texts: of string features. tasks: instruction of each frame.
    """

    def __init__(self, record: EpisodeRecord, features: Mapping[str, Feature], tasks: Mapping[int, str]) -> None:
        self.record = record
        self.features = features
        texts = [key for key, feature in features.items() if feature["dtype"] == "string"]
        table = self._rows([*numbers(features), *texts])
        if len(table) != record.length:
            raise DatasetError(f"{self._name}: {len(table)} frames; meta/ has {record.length}")
        self.arrays = {key: _array(table[key], features[key]) for key in numbers(features)}
        self.texts = {key: table[key].to_pylist() for key in texts}
        self._task_names = tasks

    def __len__(self) -> int:
        return self.record.length

    @property
    def index(self) -> int:
        """Number in the dataset."""
        return self.record.index

    @cached_property
    def tasks(self) -> list[str]:
        """Instruction of each frame. Raises DatasetError on an index without a task."""
        unknown = set(self.arrays["task_index"].tolist()) - set(self._task_names)
        if unknown:
            raise DatasetError(f"{self._name}: task_index {min(unknown)}; there are {sorted(self._task_names)}")
        return [self._task_names[index] for index in self.arrays["task_index"].tolist()]

    @property
    def timestamps(self) -> np.ndarray:
        """float64 (T,), s since the first frame, as the table has them."""
        return self.arrays["timestamp"].astype(np.float64)

    def check_grid(self, fps: float, tolerance: float = TOLERANCE) -> None:
        """Raise DatasetError, naming episode and frame, unless frame k is at k / fps (report B24)."""
        expected = np.arange(len(self)) / fps
        off = np.abs(self.timestamps - expected)
        # A float32 of some minutes is known to some 10 microseconds.
        allowed = tolerance + np.spacing(np.float32(expected)).astype(np.float64)
        if (off > allowed).any():
            worst = int(np.argmax(off > allowed))
            raise DatasetError(
                f"{self._name}: frame {worst} is at {self.timestamps[worst]:.4f} s; expected {expected[worst]:.4f} s "
                f"+- {tolerance} s at {fps} fps"
            )

    def pictures(self, key: str, tolerance: float = TOLERANCE) -> Iterator[np.ndarray]:
        """The camera's pictures, uint8 (h, w, 3), frame by frame.

        Raises DatasetError naming the file where one is missing within the tolerance (s), damaged or of another size
        than the dataset says.
        """
        if key not in cameras(self.features):
            raise DatasetError(f"{self._name}: no camera {key!r}; there are {cameras(self.features)}")
        shape = picture_shape(self.features[key])
        for step, picture in enumerate(self._decoded(key, tolerance)):
            if picture.shape != shape:
                raise DatasetError(f"{self._name}: {key} of frame {step} is {picture.shape}; expected {shape}")
            yield picture

    def _decoded(self, key: str, tolerance: float) -> Iterator[np.ndarray]:
        if self.features[key]["dtype"] == "video":
            span = self.record.videos[key]
            return pictures_at(span.path, (span.start + self.timestamps).tolist(), tolerance)
        return (png.decode(data, f"{self._name}: {key} of frame {step}") for step, data in enumerate(self.encoded(key)))

    def encoded(self, key: str) -> Iterator[bytes]:
        """The encoded pictures of an image feature, frame by frame."""
        for batch in self._dataset().to_batches(
            columns=[key], filter=self._mine, batch_size=BATCH, batch_readahead=1, fragment_readahead=1
        ):
            for cell in batch.column(0).to_pylist():
                yield (cell or {}).get("bytes") or b""

    @property
    def _name(self) -> str:
        return f"{self.record.data}: episode {self.record.index}"

    @property
    def _mine(self) -> ds.Expression:
        return ds.field("episode_index") == self.record.index

    def _dataset(self) -> ds.Dataset:
        try:
            return ds.dataset(self.record.data, format="parquet")
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{self._name}: cannot be read: {error}") from error

    def _rows(self, columns: list[str]) -> pa.Table:
        try:
            return self._dataset().to_table(columns=columns, filter=self._mine)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"{self._name}: cannot be read: {error}") from error


def _array(column: pa.ChunkedArray, feature: Feature) -> np.ndarray:
    """A column as an array of the feature's dtype; nested lists are flattened and shaped again."""
    values, rows, shape = column.combine_chunks(), len(column), list(feature["shape"])
    while isinstance(values, pa.ExtensionArray):
        values = values.storage
    while pa.types.is_nested(values.type):
        values = values.flatten()
    flat = values.to_numpy(zero_copy_only=False).astype(feature["dtype"])
    if flat.size != rows * int(np.prod(shape)):
        raise DatasetError(f"{flat.size} numbers in {rows} rows; expected shape {shape}")
    return flat if shape == [1] else flat.reshape(rows, *shape)

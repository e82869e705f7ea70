"""Rows as bytes: safetensors with the scalars as JSON in its metadata. docs/records.md reads them without all this."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load, save

from rlt_ros.types import Features, Label, Transition

SCALARS = (
    "id", "stream", "episode", "phase_id", "step", "features_id", "next_features_id", "valid_horizon", "terminated",
    "truncated", "label", "steps_to_end", "weights_version", "last_of_phase",
)  # fmt: skip
ARRAYS = ("actions", "drivers", "rewards")
FEATURE_ARRAYS = ("z", "proprio", "reference")
FEATURE_SCALARS = ("id", "stamp", "episode", "step")


@dataclass(frozen=True)
class Refused:
    """A row that did not fit. Its id is used up, so that the stream goes on. features: the sound ones it carried."""

    stream: str
    id: int
    reason: str
    features: tuple[Features, ...] = ()


Entry = Transition | Refused


def encode(entry: Entry) -> bytes:
    """A row or a refusal as safetensors bytes."""
    if isinstance(entry, Refused):
        content = {"refused": entry.reason, "stream": entry.stream, "id": entry.id}
        return _save(_feature_arrays(entry.features), content)
    arrays = {name: np.ascontiguousarray(getattr(entry, name)) for name in ARRAYS}
    return _save(arrays | _feature_arrays(entry.features), {name: getattr(entry, name) for name in SCALARS})


def decode(data: bytes) -> Entry:
    """The inverse of `encode`."""
    return Packed(data).entry()


class Packed:
    """An encoded entry of which only the scalars have been read."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little")
        self._data = data
        self._content = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["entry"])

    @property
    def stream(self) -> str:
        """The entry's stream."""
        return self._content["stream"]

    @property
    def id(self) -> int:
        """The entry's id."""
        return self._content["id"]

    @property
    def refused(self) -> bool:
        """Whether it is a refusal."""
        return "refused" in self._content

    def entry(self) -> Entry:
        """All of it."""
        content, arrays = self._content, load(self._data)
        features = _features(arrays)
        if self.refused:
            return Refused(content["stream"], content["id"], content["refused"], features)
        own = {**content, "label": Label(content["label"])}
        return Transition(**own, **{name: arrays[name] for name in ARRAYS}, features=features)


def _save(arrays: dict[str, np.ndarray], content: dict[str, object]) -> bytes:
    return save(arrays, {"entry": json.dumps(content)})


def _feature_arrays(features: Sequence[Features]) -> dict[str, np.ndarray]:
    arrays = {
        f"features.{i}.{name}": np.ascontiguousarray(getattr(f, name))
        for i, f in enumerate(features)
        for name in FEATURE_ARRAYS
    }
    scalars = [[getattr(f, name) for name in FEATURE_SCALARS] for f in features]
    return arrays | {"features": np.array(scalars, np.int64).reshape(-1, len(FEATURE_SCALARS))}


def _features(arrays: dict[str, np.ndarray]) -> tuple[Features, ...]:
    return tuple(
        Features(*numbers, *(arrays[f"features.{i}.{name}"] for name in FEATURE_ARRAYS))
        for i, numbers in enumerate(arrays["features"].tolist())
    )

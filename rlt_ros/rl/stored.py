"""The replay as arrays and as a file: what is kept of it, in the order in which sampling sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from rlt_ros.types import Features, Label, Transition

Key = tuple[str, int]
"""Stream, and id of a row or of an observation: ids are unique within one robot's run only."""
BLOCK = 4096
"""Rows of an array that are copied at once: loading needs no second copy of the replay."""


@dataclass(frozen=True)
class Stored:
    """n rows in the order of their places in the ring, and the f observations whose features they name.

    added: rows since the run began; the oldest row stands at place `added % capacity` once they are more than the
    capacity. keys: stream and id of each row. columns: arrays (n, ...) of `Replay` and `Facts`; `start` and `next`
    are places in the features' arrays (f, ...), which are z, proprio and reference. Any array may be something that
    gives one when a slice is taken of it, such as a tensor of a file.
    """

    added: int
    keys: Sequence[Key]
    columns: Mapping[str, Any]
    feature_keys: Sequence[Key]
    features: Mapping[str, Any]


def write(path: Path, stored: Stored) -> None:
    """Write a safetensors file. Raises SafetensorError if the disk refuses.

    rows.<column> (n, ...) and features.<name> (f, ...), both also with `stream` (place in the list of streams) and
    `id`; the list of streams and the count of added rows as JSON in the metadata. docs/records.md has the columns.
    """
    streams = sorted({stream for stream, _ in [*stored.keys, *stored.feature_keys]})
    tensors = {f"rows.{name}": array for name, array in stored.columns.items()}
    tensors |= {f"features.{name}": array for name, array in stored.features.items()}
    for part, keys in (("rows", stored.keys), ("features", stored.feature_keys)):
        number = {stream: i for i, stream in enumerate(streams)}
        tensors[f"{part}.stream"] = np.array([number[stream] for stream, _ in keys], np.int32)
        tensors[f"{part}.id"] = np.array([i for _, i in keys], np.int64)
    # One entry: safetensors orders several at random, and the same rows should be the same bytes.
    save_file(tensors, path, {"replay": json.dumps({"added": stored.added, "streams": streams})})


class StoredFile:
    """A file of `write`, open for reading; arrays come off the disk when slices are taken of them."""

    def __init__(self, path: Path) -> None:
        self._file = safe_open(path, "np")
        self._about = json.loads(self._file.metadata()["replay"])

    def stored(self) -> Stored:
        """Everything in it."""
        return Stored(
            self._about["added"], self._keys("rows"), self._part("rows"), self._keys("features"), self._part("features")
        )

    def keys(self) -> list[Key]:
        """Stream and id of each row, in the order of their places."""
        return self._keys("rows")

    def rows(self) -> Iterator[Transition]:
        """The rows, oldest first, as they once came: with the features that no earlier one has carried.

        The reference has the chunk's length, z the stored precision; observations have neither stamp nor step.
        """
        columns = {name: array[:] for name, array in self._part("rows").items()}
        keys, feature_keys, features = self._keys("rows"), self._keys("features"), self._part("features")
        carried: set[int] = set()
        for place in np.argsort(columns["row"]).tolist():
            own = {name: array[place] for name, array in columns.items()}
            named = list(dict.fromkeys((int(own["start"]), int(own["next"]))))  # the same twice: nothing follows
            new = tuple(_features(feature_keys, features, i) for i in named if i not in carried)
            carried.update(named)
            ids = [feature_keys[i][1] for i in named]
            yield _transition(keys[place], own, (*ids, 0), new)

    def _part(self, part: str) -> dict[str, Any]:
        names = (name for name in self._file.keys() if name.startswith(f"{part}."))
        found = {name.removeprefix(f"{part}."): self._file.get_slice(name) for name in names}
        return {name: tensor for name, tensor in found.items() if name not in ("stream", "id")}

    def _keys(self, part: str) -> list[Key]:
        streams = self._about["streams"]
        numbers, ids = (self._file.get_tensor(f"{part}.{name}").tolist() for name in ("stream", "id"))
        return [(streams[number], i) for number, i in zip(numbers, ids)]


def fill(target: np.ndarray, source: Any, name: str) -> None:
    """Copy an array, block by block. Raises ValueError naming both shapes if they differ."""
    shape = tuple(source.get_shape()) if hasattr(source, "get_shape") else source.shape
    if shape != target.shape:
        raise ValueError(f"stored {name} has shape {shape}; expected {target.shape}")
    for i in range(0, len(target), BLOCK):
        end = min(i + BLOCK, len(target))
        target[i:end] = source[i:end]


def _features(keys: Sequence[Key], arrays: Mapping[str, Any], place: int) -> Features:
    z, proprio, reference = (
        arrays[name][place : place + 1][0].astype(np.float32) for name in ("z", "proprio", "reference")
    )
    return Features(keys[place][1], 0, 0, 0, z, proprio, reference)


def _transition(key: Key, own: Mapping[str, Any], named: Sequence[int], features: tuple[Features, ...]) -> Transition:
    return Transition(
        stream=key[0],
        id=key[1],
        features_id=named[0],
        next_features_id=named[1],
        actions=own["action"],
        drivers=own["drivers"],
        rewards=own["rewards"],
        valid_horizon=int(own["horizon"]),
        terminated=bool(own["terminated"]),
        truncated=bool(own["truncated"]),
        label=Label(int(own["label"])),
        last_of_phase=bool(own["last_of_phase"]),
        features=features,
        **{name: int(own[name]) for name in ("episode", "phase_id", "step", "steps_to_end", "weights_version")},
    )

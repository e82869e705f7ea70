"""Numbered snapshots of a training, each written aside and renamed: one that has its name is whole.

snapshots/vla-000200/training.json        steps made, running means, the recipe that it belongs to
snapshots/vla-000200/tensors.safetensors  weights, moments of the optimiser, random generators
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rlt_ros.data.contract import compare
from rlt_ros.files import remove, written_aside
from rlt_ros.tensor import Tensor

VALUES, TENSORS = "training.json", "tensors.safetensors"
FORMAT = 1


class SnapshotError(ValueError):
    """A snapshot that cannot be gone on with; names it and both values."""


class Snapshots:
    """The snapshots of one run of Stage 1.

    recipe: JSON-ready, nested; what must not change between a snapshot and the run that goes on with it. keep: newest
    ones of a stage that stay.
    """

    def __init__(self, folder: Path, recipe: Mapping[str, Any], keep: int) -> None:
        self.folder, self._recipe, self._keep = folder, recipe, keep

    def save(self, stage: str, step: int, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> Path:
        """Write one, whole or not at all, then delete those that are too old. One that is there already stays.

        Raises SnapshotError if the disk refuses, which leaves the earlier ones as they were.
        """
        path = self.folder / f"{stage}-{step:06d}"
        try:
            if not path.exists():
                self._write(path, tensors, values)
            for old in self.of(stage)[: -self._keep]:
                remove(old)
        except (OSError, SafetensorError) as error:
            raise SnapshotError(f"{path} is not written, earlier ones stand: {error}") from error
        return path

    def newest(self, stage: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Tensors and values of a stage's last one, None without any.

        Raises SnapshotError where it cannot be read, ContractMismatch where it belongs to another recipe.
        """
        found = self.of(stage)
        if not found:
            return None
        path = found[-1]
        try:
            values = json.loads((path / VALUES).read_text())
            compare(f"{path}: format", FORMAT, values.pop("format", None))
            recipe = values.pop("recipe")
            tensors = load_file(path / TENSORS)
        except (OSError, KeyError, SafetensorError, json.JSONDecodeError) as error:
            raise SnapshotError(f"{path}: cannot be read, without it the one before is taken: {error}") from error
        _compare_all(f"{path}: recipe", _plain(self._recipe), recipe)
        return tensors, values

    def all(self) -> list[Path]:
        """Those of every stage."""
        return [path for path in self.folder.glob("*-*") if re.fullmatch(r"[a-z]+-\d{6,}", path.name)]

    def of(self, stage: str) -> list[Path]:
        """Those of a stage, oldest first."""
        named = re.compile(rf"{re.escape(stage)}-\d{{6,}}")
        found = [path for path in self.folder.glob(f"{stage}-*") if named.fullmatch(path.name)]
        return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))

    def _write(self, path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        content = {"format": FORMAT, "recipe": self._recipe} | values
        with written_aside(path) as aside:
            aside.mkdir()
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, aside / TENSORS)
            (aside / VALUES).write_text(json.dumps(content, indent=1) + "\n")


def _compare_all(where: str, ours: Any, theirs: Any) -> None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            _compare_all(f"{where}.{key}", ours.get(key), theirs.get(key))
    else:
        compare(where, ours, theirs)


def _plain(content: Any) -> Any:
    """As JSON gives it back: lists for tuples."""
    return json.loads(json.dumps(content))

"""Weights from a safetensors file, checked to the last tensor."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from rlt_ros.tensor import nn


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; names the file and what is wrong with it."""


def load_strictly(model: nn.Module, path: Path) -> None:
    """Load weights; every tensor must be there with its shape, and no other. Raises CheckpointError."""
    try:
        weights = load_file(path, device="cpu")
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: not readable as safetensors: {error}") from error
    wanted = model.state_dict()
    check_keys(path, set(wanted), set(weights))
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise CheckpointError(f"{path}: {name} is {tuple(tensor.shape)}; expected {tuple(wanted[name].shape)}")
    model.load_state_dict(weights)


def check_keys(path: Path, wanted: set[str], found: set[str]) -> None:
    """Raise CheckpointError listing what is missing and what is there too much."""
    missing, unexpected = sorted(wanted - found), sorted(found - wanted)
    if missing or unexpected:
        raise CheckpointError(f"{path}: missing keys {missing}, unexpected keys {unexpected}")

"""Stage-1 checkpoints: a directory with everything that Stage 2 and deployment need, checked to the last key.

config.json         contract, configuration of VLA and token encoder
norm_stats.json     normalisation statistics of the state
vla.safetensors     weights of the VLA
token.safetensors   weights of the RL token
metrics.json        what Stage 1 measured; for people
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rlt_ros.data.contract import Contract, compare
from rlt_ros.data.norm import NormStats
from rlt_ros.files import written_aside
from rlt_ros.strict import build
from rlt_ros.tensor import nn
from rlt_ros.token.config import TokenConfig
from rlt_ros.token.model import RLToken
from rlt_ros.vla.config import TinyConfig
from rlt_ros.vla.identity import identity
from rlt_ros.vla.tiny import TinyVLA

CONFIG, NORM, METRICS = "config.json", "norm_stats.json", "metrics.json"
VLA_WEIGHTS, TOKEN_WEIGHTS = "vla.safetensors", "token.safetensors"
BACKEND = "tiny"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; names the file and what is wrong with it."""


@dataclass(frozen=True)
class Stage1:
    """What Stage 1 leaves behind: frozen, in eval mode, on the processor."""

    contract: Contract
    norm: NormStats
    vla: TinyVLA
    token: RLToken


def save_stage1(path: Path, stage1: Stage1, metrics: Mapping[str, Any]) -> None:
    """Write a new checkpoint directory, whole or not at all. Raises FileExistsError if there is one."""
    config = {
        "contract": stage1.contract.to_dict(),
        "vla": {"backend": BACKEND} | asdict(stage1.vla.config),
        "token": asdict(stage1.token.config),
    }
    with written_aside(path) as folder:
        folder.mkdir()
        _write_json(folder / CONFIG, config)
        stage1.norm.save(folder / NORM)
        save_file(stage1.vla.state_dict(), folder / VLA_WEIGHTS)
        save_file(stage1.token.state_dict(), folder / TOKEN_WEIGHTS)
        _write_json(folder / METRICS, metrics)


def load_stage1(path: Path | str) -> Stage1:
    """Read a checkpoint directory; nothing in it may be missing, unknown or exchanged.

    Raises CheckpointError, or ContractMismatch where a file is not the one that the contract was made with.
    """
    folder = Path(path)
    config = _read_json(folder / CONFIG)
    _check_keys(folder / CONFIG, {"contract", "vla", "token"}, set(config))
    contract = Contract.from_dict(config["contract"], str(folder / CONFIG))
    if not (folder / TOKEN_WEIGHTS).exists():
        raise CheckpointError(f"{folder}: no RL-token weights in checkpoint; train them with `rlt stage1`")
    vla = _vla(config["vla"], folder)
    token = RLToken(build(TokenConfig, config["token"], f"{folder / CONFIG}: token"), vla.width, vla.kinds)
    load_strictly(token, folder / TOKEN_WEIGHTS)
    stage1 = Stage1(contract, NormStats.load(folder / NORM), vla, token)
    _check_identity(stage1, folder)
    for module in (vla, token):
        module.eval().requires_grad_(False)
    return stage1


def read_metrics(path: Path) -> dict[str, Any]:
    """What Stage 1 measured. Raises CheckpointError."""
    return _read_json(path / METRICS)


def token_identity(token: RLToken) -> str:
    """SHA-256 of configuration and weights of a token encoder."""
    return identity(token.config, token)


def load_strictly(model: nn.Module, path: Path) -> None:
    """Load weights; every tensor must be there with its shape, and no other. Raises CheckpointError."""
    try:
        weights = load_file(path, device="cpu")
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: not readable as safetensors: {error}") from error
    wanted = model.state_dict()
    _check_keys(path, set(wanted), set(weights))
    for name, tensor in weights.items():
        if tensor.shape != wanted[name].shape:
            raise CheckpointError(f"{path}: {name} is {tuple(tensor.shape)}; expected {tuple(wanted[name].shape)}")
    model.load_state_dict(weights)


def _vla(content: Mapping[str, Any], folder: Path) -> TinyVLA:
    values = dict(content)
    compare(f"{folder / CONFIG}: vla.backend", BACKEND, values.pop("backend", None))
    vla = TinyVLA(build(TinyConfig, values, f"{folder / CONFIG}: vla"))
    load_strictly(vla, folder / VLA_WEIGHTS)
    return vla


def _check_identity(stage1: Stage1, folder: Path) -> None:
    contract, vla = stage1.contract, stage1.vla
    compare(f"{folder / NORM}: norm_hash", contract.norm_hash, stage1.norm.hash)
    compare(f"{folder / VLA_WEIGHTS}: vla", contract.vla, vla.identity)
    compare(f"{folder / TOKEN_WEIGHTS}: token", contract.token, token_identity(stage1.token))
    compare(f"{folder / CONFIG}: horizon", contract.horizon, vla.horizon)
    compare(f"{folder / CONFIG}: cameras", contract.cameras, vla.cameras)
    compare(f"{folder / CONFIG}: image_size", contract.image_size, vla.image_size)
    compare(f"{folder / CONFIG}: token_dim", contract.token_dim, stage1.token.config.dim)


def _check_keys(path: Path, wanted: set[str], found: set[str]) -> None:
    missing, unexpected = sorted(wanted - found), sorted(found - wanted)
    if missing or unexpected:
        raise CheckpointError(f"{path}: missing keys {missing}, unexpected keys {unexpected}")


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not a Stage-1 checkpoint: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content

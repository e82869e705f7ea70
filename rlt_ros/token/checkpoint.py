"""Stage-1 checkpoints: a directory with everything that Stage 2 and deployment need, checked to the last key.

config.json         contract, configuration of VLA and token encoder
norm_stats.json     normalisation statistics of the state
vla.safetensors     weights of a tiny VLA; another backend keeps its weights elsewhere, and config.json says where
token.safetensors   weights of the RL token
metrics.json        what Stage 1 measured; for people
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from rlt_ros.data.contract import Contract, compare
from rlt_ros.data.norm import NormStats
from rlt_ros.files import written_aside
from rlt_ros.strict import build
from rlt_ros.tensor import nn
from rlt_ros.token.config import TokenConfig
from rlt_ros.token.model import RLToken
from rlt_ros.vla.backends import load_vla, save_vla
from rlt_ros.vla.contract import VLA
from rlt_ros.vla.identity import identity
from rlt_ros.vla.weights import CheckpointError, check_keys, load_strictly

CONFIG, NORM, METRICS = "config.json", "norm_stats.json", "metrics.json"
TOKEN_WEIGHTS = "token.safetensors"

__all__ = ["CheckpointError", "Stage1", "freeze", "load_stage1", "read_metrics", "save_stage1", "token_identity"]


@dataclass(frozen=True)
class Stage1:
    """What Stage 1 leaves behind: frozen, in eval mode."""

    contract: Contract
    norm: NormStats
    vla: VLA
    token: RLToken


def save_stage1(path: Path, stage1: Stage1, metrics: Mapping[str, Any]) -> None:
    """Write a new checkpoint directory, whole or not at all. Raises FileExistsError if there is one."""
    with written_aside(path) as folder:
        folder.mkdir()
        config = {
            "contract": stage1.contract.to_dict(),
            "vla": save_vla(stage1.vla, folder),
            "token": asdict(stage1.token.config),
        }
        _write_json(folder / CONFIG, config)
        stage1.norm.save(folder / NORM)
        save_file(stage1.token.state_dict(), folder / TOKEN_WEIGHTS)
        _write_json(folder / METRICS, metrics)


def load_stage1(path: Path | str, device: str = "cpu", vla_url: str = "") -> Stage1:
    """Read a checkpoint directory; nothing in it may be missing, unknown or exchanged.

    device: of torch, for VLA and token. vla_url: ws://host:port of a server (`rlt serve-vla`) to ask instead of the VLA
    that the checkpoint names; it must serve that very VLA.
    Raises CheckpointError, or ContractMismatch where a part is not the one that the contract was made with,
    VLAUnavailable where a server does not answer.
    """
    folder = Path(path)
    where = folder / CONFIG
    config = _read_json(where)
    check_keys(where, {"contract", "vla", "token"}, set(config))
    contract = Contract.from_dict(config["contract"], str(where))
    if not (folder / TOKEN_WEIGHTS).exists():
        raise CheckpointError(f"{folder}: no RL-token weights in checkpoint; train them with `rlt stage1`")
    settings = {"backend": "remote", "url": vla_url} if vla_url else config["vla"]
    vla = load_vla(settings, folder, f"{where}: vla", device)
    kinds = vla.token_kinds(contract.instruction)
    token = RLToken(build(TokenConfig, config["token"], f"{where}: token"), vla.width, kinds)
    load_strictly(token, folder / TOKEN_WEIGHTS)
    stage1 = Stage1(contract, NormStats.load(folder / NORM), vla, token.to(device))
    _check_identity(stage1, folder)
    freeze(vla, token)
    return stage1


def freeze(*parts: object) -> None:
    """Put models into eval mode and let no gradient into them; what is no module of torch is frozen already."""
    for part in parts:
        if isinstance(part, nn.Module):
            part.eval().requires_grad_(False)


def read_metrics(path: Path) -> dict[str, Any]:
    """What Stage 1 measured. Raises CheckpointError."""
    return _read_json(path / METRICS)


def token_identity(token: RLToken) -> str:
    """SHA-256 of configuration and weights of a token encoder."""
    return identity(token.config, token)


def _check_identity(stage1: Stage1, folder: Path) -> None:
    contract, vla = stage1.contract, stage1.vla
    compare(f"{folder / NORM}: norm_hash", contract.norm_hash, stage1.norm.hash)
    compare(f"{folder}: identity of the {vla.backend} VLA", contract.vla, vla.identity)
    compare(f"{folder / TOKEN_WEIGHTS}: token", contract.token, token_identity(stage1.token))
    compare(f"{folder / CONFIG}: horizon", contract.horizon, vla.horizon)
    compare(f"{folder / CONFIG}: length of proprio_names", len(contract.proprio_names), vla.proprio_dim)
    compare(f"{folder / CONFIG}: length of action_names", len(contract.action_names), vla.action_dim)
    compare(f"{folder / CONFIG}: cameras", contract.cameras, vla.cameras)
    compare(f"{folder / CONFIG}: image_size", contract.image_size, vla.image_size)
    compare(f"{folder / CONFIG}: token_dim", contract.token_dim, stage1.token.config.dim)


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

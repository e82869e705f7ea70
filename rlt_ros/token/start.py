"""What Stage 1 starts from: a new tiny VLA, one that was trained before, or another backend's."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from rlt_ros.data.contract import Contract, ContractMismatch, compare, read_contract
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import RobotConfig
from rlt_ros.strict import ConfigError
from rlt_ros.tensor import nn, torch
from rlt_ros.token.checkpoint import CONFIG, NORM
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.model import RLToken
from rlt_ros.vla.backends import load_vla, read_vla
from rlt_ros.vla.contract import VLA
from rlt_ros.vla.tiny import TinyVLA


@dataclass(frozen=True)
class Start:
    """vla: in any state. token: freshly drawn. norm: statistics that the VLA was trained with, None if it is new."""

    vla: VLA
    token: RLToken
    norm: NormStats | None


def start(config: Stage1Config, robot: RobotConfig, seed: int, device: str = "cpu") -> Start:
    """Draw or load; the same seed draws the same weights.

    Raises ConfigError where the VLA cannot do what the configuration asks of it, ContractMismatch where it was trained
    with numbers of another meaning, and what loading it raises.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vla, norm, contract = _vla(config, device)
        token = RLToken(config.token, vla.width, vla.token_kinds(config.instruction))
    _check(vla, config)
    if contract is not None:
        _check_meaning(contract, config, robot)
    if config.objective == "frozen" and isinstance(vla, nn.Module):
        vla.eval().requires_grad_(False)
    return Start(vla, token, norm)


def _vla(config: Stage1Config, device: str) -> tuple[VLA, NormStats | None, Contract | None]:
    path = Path(config.vla_from).expanduser()
    if not config.vla_from:
        return TinyVLA(replace(config.vla, proprio_dim=len(config.proprio_names))), None, None
    if path.is_dir():
        return _trained(path, device)
    return read_vla(path, device), None, None


def _trained(folder: Path, device: str) -> tuple[VLA, NormStats, Contract]:
    """The VLA of a Stage-1 checkpoint and its statistics; the token may be missing."""
    contract, norm = read_contract(folder), NormStats.load(folder / NORM)
    settings = json.loads((folder / CONFIG).read_text())["vla"]
    vla = load_vla(settings, folder, f"{folder / CONFIG}: vla", device)
    compare(f"{folder}: identity of the VLA", contract.vla, vla.identity)
    compare(f"{folder / NORM}: norm_hash", contract.norm_hash, norm.hash)
    return vla, norm, contract


def _check(vla: VLA, config: Stage1Config) -> None:
    if config.objective != "frozen" and not hasattr(vla, "loss"):
        raise ConfigError(f"objective is {config.objective}; a {vla.backend} VLA cannot be trained, use frozen")
    if vla.proprio_dim != len(config.proprio_names):
        raise ContractMismatch(
            f"state: the VLA takes {vla.proprio_dim} entries, state_indices leave {len(config.proprio_names)}"
        )
    if vla.horizon < config.chunk:
        raise ContractMismatch(f"chunk is {config.chunk}; the VLA looks {vla.horizon} steps ahead")


def _check_meaning(contract: Contract, config: Stage1Config, robot: RobotConfig) -> None:
    """Of as many entries as before another one may be meant; and what is not trained again keeps its units."""
    compare("proprio_names of the VLA and of state_indices", contract.proprio_names, config.proprio_names)
    if config.objective == "frozen":
        contract.check_robot(robot)

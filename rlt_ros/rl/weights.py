"""Actor weights as bytes: safetensors with version, contract and settings in its metadata, refused unless all fit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save

from rlt_ros.rl.agent import Agent, load_strictly
from rlt_ros.rl.backend import torch
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.networks import Actor
from rlt_ros.rl.policy import PolicyNet
from rlt_ros.strict import ConfigError, build
from rlt_ros.types import PolicyWeights

NETWORKS = ("actor", "ema")


class WeightsError(ValueError):
    """Weights that must not be used."""


def pack(agent: Agent, version: int, contract: str) -> bytes:
    """The actor and its running average of an agent, self-contained."""
    tensors = {
        f"{part}.{name}": tensor.detach().cpu().contiguous()
        for part in NETWORKS
        for name, tensor in getattr(agent, part).state_dict().items()
    }
    metadata = {
        "version": str(version),
        "contract": contract,
        "config": json.dumps(agent.config.as_dict()),
        "dims": json.dumps(vars(agent.dims)),
    }
    return save(tensors, metadata)


def checksum(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def load_policy(weights: PolicyWeights, contract: str) -> PolicyNet:
    """A new policy from received weights. Raises WeightsError, naming both values, if checksum, contract, version, a
    tensor's name or a shape differs; whoever calls keeps the policy that it has.
    """
    _same("checksum", checksum(weights.data), weights.checksum)
    _same("contract", weights.contract, contract)
    try:
        metadata, tensors = read_metadata(weights.data), load(weights.data)
        _same("contract in the data", metadata["contract"], contract)
        _same("version in the data", int(metadata["version"]), weights.version)
        config = build(AgentConfig, json.loads(metadata["config"]), "weights.config")
        dims = build(Dims, json.loads(metadata["dims"]), "weights.dims")
        return PolicyNet(config, dims, weights.version, contract, *_actors(config, dims, tensors))
    except (SafetensorError, KeyError, json.JSONDecodeError, ConfigError) as error:
        raise WeightsError(f"weights version {weights.version}: {error}") from error


def write_policy_file(path: Path, weights: PolicyWeights) -> None:
    """Write the newest weights beside the run's other files; the file is whole or the one before."""
    aside = path.with_name(path.name + ".tmp")
    aside.write_bytes(weights.data)
    aside.replace(path)


def read_policy_file(path: Path, contract: str) -> PolicyWeights | None:
    """Weights that `write_policy_file` wrote, None where there are none. Raises WeightsError on another contract.

    The gate is given as closed: only a learner knows its state.
    """
    if not path.exists():
        return None
    data = path.read_bytes()
    try:
        metadata = read_metadata(data)
        _same(f"{path}: contract", metadata["contract"], contract)
        return PolicyWeights(int(metadata["version"]), contract, checksum(data), False, "the learner was restarted", data)
    except (KeyError, ValueError) as error:
        raise WeightsError(f"{path}: {error}") from error


def read_metadata(data: bytes) -> dict[str, str]:
    """The metadata of safetensors bytes."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size])["__metadata__"]


def _actors(config: AgentConfig, dims: Dims, tensors: dict[str, torch.Tensor]) -> list[Actor]:
    actors = []
    for part in NETWORKS:
        own = {name.removeprefix(f"{part}."): t for name, t in tensors.items() if name.startswith(f"{part}.")}
        actor = Actor(config, dims, torch.Generator()).requires_grad_(False)
        try:
            load_strictly(actor, own, part)
        except ValueError as error:
            raise WeightsError(str(error)) from error
        actors.append(actor)
    unknown = sorted(name for name in tensors if not name.startswith(tuple(f"{part}." for part in NETWORKS)))
    _same("tensors of no known network", unknown, [])
    return actors


def _same(name: str, found: object, expected: object) -> None:
    if found != expected:
        raise WeightsError(f"{name} is {found!r}; expected {expected!r}")

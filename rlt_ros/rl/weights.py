"""Actor weights as bytes: safetensors with version, contract and settings in its metadata, refused unless all fit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from rlt_ros.files import write_whole
from rlt_ros.rl.agent import Agent, load_strictly
from rlt_ros.rl.algorithms import make_actor
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.networks import Actor
from rlt_ros.rl.policy import PolicyNet
from rlt_ros.strict import ConfigError, build
from rlt_ros.tensor import torch
from rlt_ros.types import PolicyWeights

NETWORKS = ("actor", "ema")
UNTRAINED = "learned nothing from its critics yet: it moves at random, or copies the VLA as well as it can"
MAKE = ("algorithm", "chunk", "passthrough", "hidden", "layers", "actor_form", "pixels", "use_reference")
"""Settings that say what an actor's weights mean; `residual_limit` is one in the residual form."""


class WeightsError(ValueError):
    """Weights that must not be used."""


def pack(agent: Agent, version: int, contract: str) -> bytes:
    """The actor and its running average of an agent, self-contained."""
    tensors = {
        f"{part}.{name}": tensor.detach().cpu().contiguous()
        for part in NETWORKS
        for name, tensor in getattr(agent, part).state_dict().items()
    }
    about = {"version": version, "contract": contract, "config": agent.config.as_dict(), "dims": vars(agent.dims)}
    about["trained"] = agent.actor_updates > 0 or agent.inherited
    # One entry: safetensors orders several at random, and the same weights should be the same bytes.
    return save(tensors, {"policy": json.dumps(about)})


def checksum(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def load_policy(weights: PolicyWeights, contract: str) -> PolicyNet:
    """A new policy from received weights. Raises WeightsError, naming both values, if checksum, contract, version, a
    tensor's name or a shape differs; whoever calls keeps the policy that it has.
    """
    config, dims, actors = _unpacked(weights, contract)
    return PolicyNet(config, dims, weights.version, contract, *actors)


def start_from(agent: Agent, path: Path, contract: str) -> int:
    """Copy the actor and its average out of a policy file into an agent; returns the file's version.

    Raises WeightsError, naming both values, if there is no such file, if `load_policy` would, or if the actor is of
    another make than the agent's: sizes and the settings in `MAKE`. Nothing is copied then.
    """
    weights = read_policy_file(path, contract)
    if weights is None:
        raise WeightsError(f"{path}: no such file; expected the policy file of another run")
    config, dims, actors = _unpacked(weights, contract)
    for name, size in vars(agent.dims).items():
        _same(f"{path}: dims.{name}", getattr(dims, name), size)
    residual = ("residual_limit",) if config.actor_form == "residual" else ()
    for name in MAKE + residual:
        _same(f"{path}: {name}", getattr(config, name), getattr(agent.config, name))
    for part, actor in zip(NETWORKS, actors):
        load_strictly(getattr(agent, part), actor.state_dict(), part)
    agent.inherited = not is_untrained(weights)
    return weights.version


def write_policy_file(path: Path, weights: PolicyWeights) -> None:
    """Write the newest weights beside the run's other files; the file is whole or the one before."""
    write_whole(path, weights.data)


def read_policy_file(path: Path, contract: str) -> PolicyWeights | None:
    """Weights that `write_policy_file` wrote, None where there are none. Raises WeightsError on another contract.

    The gate is given as closed: only a learner knows its state.
    """
    if not path.exists():
        return None
    data = path.read_bytes()
    try:
        about = read_about(data)
        _same(f"{path}: contract", about["contract"], contract)
        return PolicyWeights(about["version"], contract, checksum(data), False, "the learner was restarted", data)
    except (KeyError, ValueError) as error:
        raise WeightsError(f"{path}: {error}") from error


def is_untrained(weights: PolicyWeights) -> bool:
    """Whether the actor has had no update with the critics: it moves at random, or copies the reference after BC. Files
    that do not say so pass for trained.
    """
    return read_about(weights.data).get("trained") is False


def read_about(data: bytes) -> dict[str, Any]:
    """Version, contract, config and dims of packed weights. Raises KeyError or ValueError where there are none."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["policy"])


def _unpacked(weights: PolicyWeights, contract: str) -> tuple[AgentConfig, Dims, list[Actor]]:
    _same("checksum", checksum(weights.data), weights.checksum)
    _same("contract", weights.contract, contract)
    try:
        about, tensors = read_about(weights.data), load(weights.data)
        _same("contract in the data", about["contract"], contract)
        _same("version in the data", about["version"], weights.version)
        config = build(AgentConfig, about["config"], "weights.config")
        dims = build(Dims, about["dims"], "weights.dims")
        return config, dims, _actors(config, dims, tensors)
    except (SafetensorError, KeyError, json.JSONDecodeError, ConfigError) as error:
        raise WeightsError(f"weights version {weights.version}: {error}") from error


def _actors(config: AgentConfig, dims: Dims, tensors: dict[str, torch.Tensor]) -> list[Actor]:
    actors = []
    for part in NETWORKS:
        own = {name.removeprefix(f"{part}."): t for name, t in tensors.items() if name.startswith(f"{part}.")}
        actor = make_actor(config, dims, torch.Generator()).requires_grad_(False)
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

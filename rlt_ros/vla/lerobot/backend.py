"""A LeRobot policy as a VLA: prefix tokens and action chunk from one prefill, by the policy's own code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.strict import ConfigError, build
from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.vla.contract import TokenKind, VLAInput, VLALoss, VLAOutput
from rlt_ros.vla.flow import seeded_noise
from rlt_ros.vla.lerobot.config import LeRobotConfig
from rlt_ros.vla.lerobot.families import STATE, sample_time
from rlt_ros.vla.lerobot.loading import Loaded, load_policy
from rlt_ros.vla.lerobot.prefix import captured
from rlt_ros.vla.lerobot.prompts import Prompts
from rlt_ros.vla.lerobot.saving import add_adapters, policy_identity, save_policy


class LeRobotVLA(nn.Module):
    """pi0, pi0.5 or SmolVLA (`vla.contract`). The policy's processors normalise, so batches need `state`.

    Tokens are the prefix's hidden states after the final norm, as the policy computes them on its way to the actions.
    """

    backend = "lerobot"

    def __init__(self, loaded: Loaded, config: LeRobotConfig, where: str = "vla") -> None:
        super().__init__()
        self.config, self.policy = config, loaded.policy
        self._loaded, self._family = loaded, loaded.family
        self._norm = (loaded.family.norm(loaded.policy),)  # in a tuple: it is the policy's module, not a second one
        self.cameras = tuple(loaded.cameras)
        self.image_size = _image_size(loaded, config, where)
        settings = loaded.policy.config
        self.horizon = config.horizon or settings.chunk_size
        self.action_dim = settings.action_feature.shape[0]
        self.proprio_dim = len(config.given)
        self.width = self._norm[0].weight.shape[0]
        self._state = [config.given.index(name) for name in config.state or config.given]
        _check_sizes(config, settings, len(self._state), where)
        self._scale = torch.tensor(config.action_scale or (1.0,) * self.action_dim)
        self._prompts = Prompts(loaded)
        self._image_tokens = len(self.cameras) * self._count_image_tokens()
        self._hashed = (-1, "")
        self._first_identity = self.identity

    @property
    def identity(self) -> str:
        """SHA-256 of what is asked of the policy, its configuration, its processors' numbers and its weights."""
        # Hashing billions of weights takes half a minute; torch counts the changes of every tensor.
        changes = sum(parameter._version for parameter in self.parameters())
        if self._hashed[0] != changes:
            terms = {name: getattr(self, name) for name in ("cameras", "image_size", "horizon")}
            terms |= {"state": self._state, "scale": self._scale.tolist()}
            self._hashed = (changes, policy_identity(self._loaded, terms))
        return self._hashed[1]

    def token_kinds(self, instruction: str) -> tuple[TokenKind, ...]:
        """Kinds of images, prompt and, where the prefix has it, state; instruction in the prompt before the state."""
        first, rest = self._prompts.lengths(instruction)
        return tuple(self._family.kinds(self.policy, self._image_tokens, first, rest))

    @torch.no_grad()
    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Tokens and reference from one prefill; see `vla.contract.VLA.infer`."""
        batch.check_seeds(seeds)
        ready = self._prepared(batch)
        noise = seeded_noise(seeds, self.policy.config.chunk_size, self.policy.config.max_action_dim)
        training = self.training
        with captured(self.policy, self._norm[0]) as prefix:
            chunk = self.policy.predict_action_chunk(ready, noise=noise.to(self._device))
        self.train(training)  # the policy puts itself into eval mode
        tokens, mask = prefix.take()
        actions = self._loaded.after(chunk)[:, : self.horizon].float() / self._scale
        return VLAOutput(tokens, mask, self.token_kinds(batch.instruction), actions.to(tokens.device))

    def standardise(self, actions: Tensor) -> None:
        """Nothing: the policy's processors bring the statistics that it was trained with."""

    def loss(self, batch: VLAInput, actions: Tensor, valid: Tensor, generator: torch.Generator) -> VLALoss:
        """The policy's own flow-matching loss over valid steps; see `vla.contract.TrainableVLA.loss`.

        The policies' own mean would count padded steps too (pi0, pi0.5).
        """
        ready = self._prepared(batch, self._whole(actions * self._scale))
        target = self.policy.prepare_action(ready)
        noise = torch.randn(target.shape, generator=generator).to(target.device)
        time = sample_time(self.policy, len(batch), target.device, generator)
        with captured(self.policy, self._norm[0]) as prefix:
            errors = self._family.losses(self.policy, ready, target, noise, time)
        tokens, mask = prefix.take()
        steps = errors[:, : self.horizon, : self.action_dim].mean(dim=-1)
        counted = valid.to(steps.device)
        loss = torch.where(counted, steps, 0.0).sum() / counted.sum().clamp_min(1)
        return VLALoss(loss, tokens, mask, self.token_kinds(batch.instruction))

    def save(self, folder: Path) -> dict[str, Any]:
        """Settings that name the directory it came from; a policy that was trained since is written to the folder."""
        found = self.identity
        if found == self._first_identity:
            return asdict(replace(self.config, identity=found))
        save_policy(self._loaded, folder / "vla")
        config = replace(self.config, path="vla", identity=found, precision="", lora=0, tokenizer="")
        return asdict(config)

    @property
    def _device(self) -> torch.device:
        return self._norm[0].weight.device

    def _prepared(self, batch: VLAInput, actions: Tensor | None = None) -> dict[str, Tensor]:
        batch.check(self.cameras, self.image_size, self.proprio_dim)
        if batch.state is None:
            raise ValueError("state: missing; this policy normalises the state in its own units by its own statistics")
        raw: dict[str, Any] = {key: _pixels(batch.images[name]) for name, key in self._loaded.cameras.items()}
        raw[STATE] = torch.from_numpy(np.ascontiguousarray(batch.state[:, self._state]))
        raw["task"] = [batch.instruction] * len(batch)
        if actions is not None:
            raw["action"] = actions
        ready = self._loaded.before(raw)
        self._prompts.check(batch.instruction, ready)
        return ready

    def _whole(self, actions: Tensor) -> Tensor:
        """Chunks (N, H, A) as long as the policy's; the last step again, and not counted."""
        missing = self.policy.config.chunk_size - actions.shape[1]
        return torch.cat([actions, actions[:, -1:].expand(-1, missing, -1)], dim=1) if missing else actions

    @torch.no_grad()
    def _count_image_tokens(self) -> int:
        key = next(iter(self._loaded.cameras.values()))
        blank = torch.zeros(1, 3, *self.image_size, device=self._device)
        return self._family.image_tokens(self.policy, {key: blank})


def load(settings: Mapping[str, Any], folder: Path, where: str, device: str = "cpu") -> LeRobotVLA:
    """The VLA that settings describe. Raises ValueError with both values where its identity is not that of settings."""
    config = build(LeRobotConfig, settings, where)
    config = replace(config, path=str((folder / config.path).resolve()))
    loaded = load_policy(config, where, device)
    if config.lora:
        add_adapters(loaded, config.lora, config.lora_targets)
    vla = LeRobotVLA(loaded, config, where).eval()
    if config.identity and config.identity != vla.identity:
        raise ValueError(f"{where}: identity of {config.path}: {config.identity!r} here, {vla.identity!r} there")
    return vla


def _pixels(images: np.ndarray) -> Tensor:
    """float32 (N, 3, h, w) in [0, 1], as LeRobot's datasets give pictures."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255.0)


def _image_size(loaded: Loaded, config: LeRobotConfig, where: str) -> tuple[int, int]:
    if any(config.image_size):
        return config.image_size
    features = loaded.policy.config.image_features
    sizes = {tuple(features[key].shape[1:]) for key in loaded.cameras.values()}
    if len(sizes) != 1:
        raise ConfigError(f"{where}.image_size: the policy's images have {sorted(sizes)}; name the one of this robot's")
    return sizes.pop()


def _check_sizes(config: LeRobotConfig, settings: Any, state: int, where: str) -> None:
    wanted = settings.robot_state_feature.shape[0]
    if state != wanted:
        raise ConfigError(f"{where}.state: {state} values; the policy takes {wanted}")
    if config.horizon > settings.chunk_size:
        raise ConfigError(f"{where}.horizon: {config.horizon}; the policy's chunk has {settings.chunk_size} steps")
    actions = settings.action_feature.shape[0]
    if config.action_scale and len(config.action_scale) != actions:
        raise ConfigError(f"{where}.action_scale: {len(config.action_scale)} values; the policy has {actions} actions")

"""The actor as the robot runs it: features in, chunk out, numpy on both sides, no optimisers."""

from __future__ import annotations

import numpy as np

from rlt_ros.rl.baselines.sac import GaussianActor
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.networks import Actor
from rlt_ros.tensor import torch
from rlt_ros.types import Features


class PolicyNet:
    """An actor and its running average, with the version and the contract that they belong to. Never changed: new
    weights are a new PolicyNet, so that a swap is one assignment between two chunks.
    """

    def __init__(self, config: AgentConfig, dims: Dims, version: int, contract: str, actor: Actor, ema: Actor) -> None:
        self.config, self.dims, self.version, self.contract = config, dims, version, contract
        self._actor, self._ema = actor, ema
        self._free = list(config.policy_dims(dims))

    def act(self, features: Features, evaluation: bool = False) -> np.ndarray:
        """Mean chunk float32 (C, A) in [-1, 1]; passed-through dimensions are the reference's. Noise is the caller's.
        An actor with a width of its own is sampled instead, the same for the same seed and features.

        evaluation: the averaged actor, at its mean or mode. Raises ValueError naming a field of the wrong shape or not
        finite.
        """
        self._check(features)
        chunk = np.array(features.reference[: self.config.chunk], np.float32)
        z = features.z if self.config.use_z else np.zeros_like(features.z)
        state = np.concatenate([z, features.proprio], dtype=np.float32)
        with torch.no_grad():
            decided = self._decide(_row(state), _row(chunk[:, self._free]), features.id, evaluation)
        chunk[:, self._free] = decided[0].numpy()
        return chunk

    def _decide(self, state: torch.Tensor, reference: torch.Tensor, number: int, evaluation: bool) -> torch.Tensor:
        net = self._ema if evaluation else self._actor
        if evaluation or not isinstance(net, GaussianActor):
            return net(state, reference)
        noise = np.random.default_rng([self.config.seed, number]).standard_normal(reference.shape, np.float32)
        return net.sample(state, reference, torch.from_numpy(noise))[0]

    def _check(self, features: Features) -> None:
        shape = (len(features.reference), self.dims.action)
        expected = {"z": (self.dims.z,), "proprio": (self.dims.proprio,), "reference": shape}
        where, chunk = f"features {features.id}", self.config.chunk
        if shape[0] < chunk:
            raise ValueError(f"{where}: reference has {shape[0]} steps; expected {chunk} or more")
        for name, wanted in expected.items():
            array = getattr(features, name)
            if array.shape != wanted:
                raise ValueError(f"{where}: {name} has shape {array.shape}; expected {wanted}")
            if not np.isfinite(array).all():
                index = np.argwhere(~np.isfinite(array))[0].tolist()
                raise ValueError(f"{where}: {name}{index} is {array[tuple(index)]}; expected finite")


def _row(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).unsqueeze(0)

"""Features and the operator's mode in, an action chunk out."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rlt_ros.types import GRIPPER, ActionChunk, Driver, Features, Mode, Phase, PolicyMode


class NonFinite(ValueError):
    """A decision that is not finite (field report A01); names the source and the index."""


class Policy(Protocol):
    """A learned actor. version: of its weights, from 1."""

    version: int

    def act(self, features: Features, evaluation: bool) -> np.ndarray:
        """Chunk (C, A) in the action space, without exploration noise; evaluation: with the averaged weights."""


class ChunkPolicy:
    """Decides chunks of C steps from the VLA's reference or from a learned actor.

    chunk: C. sigma: held exploration noise, as a share of the action range; hold: control steps that a sample is held.
    Noise is drawn from (seed, observation id), so results do not depend on the order in which decisions are asked for;
    the gripper never gets any. gripper_passthrough: the gripper comes from the reference even if the learned actor
    gives one.
    """

    def __init__(self, chunk: int, sigma: float, hold: int, seed: int, gripper_passthrough: bool = True) -> None:
        if chunk < 1 or hold < 1 or sigma < 0.0:
            raise ValueError(f"chunk {chunk} and hold {hold} must be at least 1, sigma {sigma} not negative")
        self._chunk, self._hold, self._seed = chunk, hold, seed
        self.sigma = sigma
        """Held exploration noise; a new value counts from the next decision on."""
        self._passthrough = gripper_passthrough
        self._policy: Policy | None = None
        self.reason = ""
        """Why the last decision was the VLA's although RL was asked for; else empty."""

    @property
    def policy(self) -> Policy | None:
        """The learned actor in use, None before the first."""
        return self._policy

    @property
    def version(self) -> int:
        """Version of the weights in use, 0 before the first."""
        return 0 if self._policy is None else self._policy.version

    def swap(self, policy: Policy | None) -> None:
        """Use another learned actor from the next decision on; a chunk that is out is not touched."""
        self._policy = policy

    def decide(self, features: Features, mode: PolicyMode, late: int = 0) -> ActionChunk:
        """The chunk for an observation. RL without a learned actor gives the VLA's chunk and says so in `reason`.

        late: rows that will have passed when it begins; the VLA's chunk gets as many more, if its reference has them.
        Raises NonFinite instead of handing on a chunk that is not finite: nothing is published, so the arm holds; to
        put the VLA in its place would hide a broken actor. Raises ValueError if the reference is shorter than the
        chunk.
        """
        policy = self._policy if mode.mode is Mode.RL else None
        self.reason = "no learned weights have come yet" if mode.mode is Mode.RL and policy is None else ""
        reference = self._reference(features, self._chunk + (late if policy is None else 0))
        actions = reference if policy is None else self._act(policy, features, reference, mode.evaluation)
        if mode.explore:
            actions = actions + self._noise(features.id, *actions.shape)
        return ActionChunk(
            features_id=features.id,
            stamp=features.stamp,
            actions=np.clip(actions, -1.0, 1.0).astype(np.float32),
            driver=Driver.VLA if policy is None else Driver.ACTOR,
            phase_id=mode.phase_id if mode.phase is Phase.CRITICAL else 0,
            weights_version=0 if policy is None else policy.version,
        )

    def _reference(self, features: Features, rows: int) -> np.ndarray:
        horizon = features.reference.shape[0]
        if horizon < self._chunk:
            raise ValueError(f"features {features.id}: reference has {horizon} steps, the chunk needs {self._chunk}")
        _require_finite(features.z, f"features {features.id}: z")
        _require_finite(features.proprio, f"features {features.id}: proprio")
        return _require_finite(features.reference[:rows], f"features {features.id}: reference")

    def _act(self, policy: Policy, features: Features, reference: np.ndarray, evaluation: bool) -> np.ndarray:
        actions = np.array(policy.act(features, evaluation), dtype=np.float32)
        if actions.shape != reference.shape:
            raise ValueError(f"the actor gave a chunk of shape {actions.shape}; expected {reference.shape}")
        if self._passthrough:
            actions[:, GRIPPER] = reference[:, GRIPPER]
        return _require_finite(actions, f"actor, weights {policy.version}: action")

    def _noise(self, number: int, rows: int, dims: int) -> np.ndarray:
        samples = -(-rows // self._hold)
        drawn = np.random.default_rng([self._seed, number]).normal(0.0, self.sigma, (samples, dims))
        drawn[:, GRIPPER] = 0.0
        return np.repeat(drawn, self._hold, axis=0)[:rows]


def _require_finite(values: np.ndarray, source: str) -> np.ndarray:
    if not np.isfinite(values).all():
        index = np.argwhere(~np.isfinite(values))[0].tolist()
        raise NonFinite(f"{source} is {values[tuple(index)]} at {index}")
    return values

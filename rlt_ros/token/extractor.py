"""Feature extraction: an observation in, z_rl, normalised proprioception and reference chunk out, by one VLA pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rlt_ros.robot.action_space import clip_reference
from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.checkpoint import Stage1
from rlt_ros.types import PROPRIO_NAMES, Features, Observation
from rlt_ros.vla.contract import VLAInput, VLAOutput


class FeatureExtractor:
    """Frozen VLA and token encoder. The same seed and observation give the same features, alone or in a batch.

    threads: for torch, in this process; None leaves them as they are. More than one is slower for a model of this size.
    """

    def __init__(self, stage1: Stage1, seed: int, threads: int | None = None) -> None:
        self._stage1 = stage1
        self._seed = seed
        if threads is not None:
            torch.set_num_threads(threads)
        self._entries = [PROPRIO_NAMES.index(name) for name in stage1.contract.proprio_names]
        for part in (stage1.vla, stage1.token):
            if isinstance(part, nn.Module):
                part.eval()

    def features(self, observations: Sequence[Observation]) -> list[Features]:
        """Features of observations, in their order.

        Raises ValueError naming observation and field, with both values, where one does not fit the contract,
        VLAUnavailable where a VLA on another machine does not answer.
        """
        if not observations:
            return []
        for observation in observations:
            self._check(observation)
        state = np.stack([o.proprio[self._entries] for o in observations])
        proprio = self._stage1.norm.normalise(state)
        z, reference = self._infer(observations, proprio, state)
        return [
            Features(o.id, o.stamp, o.episode, o.step, z[i].copy(), proprio[i].copy(), clip_reference(reference[i]))
            for i, o in enumerate(observations)
        ]

    @torch.inference_mode()
    def _infer(
        self, observations: Sequence[Observation], proprio: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        contract = self._stage1.contract
        images = {name: np.stack([o.images[name] for o in observations]) for name in contract.cameras}
        seeds = [pass_seed(self._seed, o.id) for o in observations]
        out = self._stage1.vla.infer(VLAInput(images, proprio, contract.instruction, state), seeds)
        return self._z(images, out).cpu().numpy(), out.reference.cpu().numpy()

    def _z(self, images: Mapping[str, np.ndarray], out: VLAOutput) -> Tensor:
        # (N, Z), what the agent gets besides proprioception and reference. images: uint8 (N, h, w, 3) by camera.
        token = self._stage1.token
        device = token.e_rl.device
        return token.encode(out.tokens.to(device), out.mask.to(device), out.kinds)

    def _check(self, observation: Observation) -> None:
        contract = self._stage1.contract
        where = f"observation {observation.id}"
        if set(observation.images) != set(contract.cameras):
            found, wanted = sorted(observation.images), sorted(contract.cameras)
            raise ValueError(f"{where}: images: cameras {found}; the checkpoint has {wanted}")
        for name, image in observation.images.items():
            if image.shape != (*contract.image_size, 3) or image.dtype != np.uint8:
                wanted = (*contract.image_size, 3)
                raise ValueError(f"{where}: images[{name}]: {image.dtype} {image.shape}; expected uint8 {wanted}")
        if observation.proprio.shape != (len(PROPRIO_NAMES),):
            wanted = (len(PROPRIO_NAMES),)
            raise ValueError(f"{where}: proprio: shape {observation.proprio.shape}; expected {wanted}")
        if not np.isfinite(observation.proprio).all():
            name = PROPRIO_NAMES[int(np.argmin(np.isfinite(observation.proprio)))]
            raise ValueError(f"{where}: proprio: {name} is not finite")


def pass_seed(seed: int, observation_id: int) -> int:
    """Seed of one observation's pass, 64 bit: well mixed, so that neither seeds nor ids run into each other."""
    return int(np.random.SeedSequence((seed, observation_id)).generate_state(1, np.uint64)[0])

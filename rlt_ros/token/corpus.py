"""The demonstrations as Stage 1 learns from them: frames, normalised state, which episodes are held back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rlt_ros.data.demos import Demonstration, DemonstrationError, Frames
from rlt_ros.data.norm import NormStats
from rlt_ros.tensor import Tensor, torch
from rlt_ros.token.config import Stage1Config
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.contract import VLA, VLAInput


@dataclass(frozen=True)
class Corpus:
    """N frames of a set of episodes, in their order.

    state: float32 (N, P), SI units, the entries that VLA and agent get. proprio: the same, normalised by `norm`.
    episode: int64 (N,), number of each frame's episode. success: bool (N,), how that episode ended. training,
    validation: int64, frames that are learned from and frames of episodes that are not.
    """

    frames: Frames
    state: np.ndarray
    proprio: np.ndarray
    norm: NormStats
    episode: np.ndarray
    success: np.ndarray
    training: Tensor
    validation: Tensor

    @staticmethod
    def of(
        episodes: Sequence[Demonstration],
        config: Stage1Config,
        vla: VLA,
        seed: int,
        norm: NormStats | None = None,
        pictures: dict[str, np.ndarray] | None = None,
    ) -> Corpus:
        """Stack episodes as the VLA needs them.

        norm: statistics that it was trained with; None: of these frames. pictures: of all frames by camera, where the
        episodes hold none.

        Raises DemonstrationError where two episodes differ in their cameras or the VLA needs others, ValueError where
        no episode is left to learn from.
        """
        frames = Frames.of(episodes, vla.horizon)
        frames = with_cameras(frames if pictures is None else replace(frames, images=pictures), vla.cameras)
        names = config.proprio_names
        entries = [PROPRIO_NAMES.index(name) for name in names]
        state = np.ascontiguousarray(frames.proprio[:, entries])
        norm = norm or NormStats.of(state, names)
        lengths = [len(episode.actions) for episode in episodes]
        held = held_back([episode.id for episode in episodes], config.validation, seed)
        episode = np.repeat([episode.id for episode in episodes], lengths)
        rows = torch.from_numpy(np.isin(episode, held))
        return Corpus(
            frames=frames,
            state=state,
            proprio=norm.normalise(state),
            norm=norm,
            episode=episode,
            success=np.repeat([bool(episode.success) for episode in episodes], lengths),
            training=torch.nonzero(~rows).flatten(),
            validation=torch.nonzero(rows).flatten(),
        )

    def __len__(self) -> int:
        return len(self.frames)

    def batch(self, rows: np.ndarray | slice, instruction: str) -> VLAInput:
        """What the VLA sees of some frames."""
        images = {name: np.asarray(pictures[rows]) for name, pictures in self.frames.images.items()}
        return VLAInput(images, self.proprio[rows], instruction, self.state[rows])

    @cached_property
    def identity(self) -> str:
        """SHA-256 of everything in the frames: pictures, state, actions, in their order."""
        digest = hashlib.sha256()
        arrays = {**self.frames.images, "state": self.state, "targets": self.frames.targets}
        for name, values in sorted(arrays.items()):
            digest.update(f"{name} {values.dtype} {values.shape}".encode())
            for start in range(0, len(values), 256):
                digest.update(np.ascontiguousarray(values[start : start + 256]))
        return digest.hexdigest()


def with_cameras(frames: Frames, cameras: Sequence[str]) -> Frames:
    """Frames with these cameras only. Raises DemonstrationError naming both sides if one is missing."""
    if not set(cameras) <= set(frames.images):
        raise DemonstrationError(f"images: cameras {sorted(frames.images)}; the VLA needs {sorted(cameras)}")
    return replace(frames, images={name: frames.images[name] for name in cameras})


def held_back(ids: Sequence[int], share: float, seed: int) -> np.ndarray:
    """Episodes for validation, chosen by the seed: a share of all, at least one unless the share is 0."""
    if share == 0.0:
        return np.empty(0, dtype=np.int64)
    count = max(1, round(share * len(ids)))
    if count >= len(ids):
        raise ValueError(f"validation {share} of {len(ids)} episodes leaves none to learn from")
    return np.random.default_rng((seed, len(ids))).choice(np.asarray(ids), count, replace=False)

"""Demonstrations: episodes in memory, and one compressed .npz a piece on disk."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlt_ros.files import written_aside
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

IMAGE = "image."
"""Prefix of the arrays that hold a camera's pictures."""


class DemonstrationError(ValueError):
    """An episode that cannot be used; names the file or field and both values."""


@dataclass(frozen=True)
class Demonstration:
    """One episode of T control steps; row t is what was seen and what was then executed.

    id: unique in a dataset, not negative. images: camera name to uint8 RGB (T, h, w, 3) at policy resolution.
    proprio: float32 (T, 19), SI units, not normalised. actions: float32 (T, 7), executed, in the action space.
    success: how it ended. offset: float32 (T, 2), true vector from tip to hole along the base axes, m; None where only
    the world knows it. For probes only: no model ever sees it. instruction: the task, word for word; may be empty.
    """

    id: int
    images: dict[str, np.ndarray]
    proprio: np.ndarray
    actions: np.ndarray
    success: bool
    offset: np.ndarray | None = None
    instruction: str = ""

    def __post_init__(self) -> None:
        steps = len(self.actions)
        expected = {"proprio": len(PROPRIO_NAMES), "actions": len(ACTION_NAMES)}
        for field, width in (expected if self.offset is None else expected | {"offset": 2}).items():
            values = getattr(self, field)
            if values.shape != (steps, width) or values.dtype != np.float32:
                raise DemonstrationError(f"{field}: {values.dtype} {values.shape}; expected float32 {(steps, width)}")
            if not np.isfinite(values).all():
                raise DemonstrationError(f"{field}: not finite in step {np.argwhere(~np.isfinite(values))[0][0]}")
        if steps == 0 or np.abs(self.actions).max() > 1.0:
            raise DemonstrationError(f"actions: {steps} steps; expected at least one, all values in [-1, 1]")
        for name, pictures in self.images.items():
            if pictures.ndim != 4 or len(pictures) != steps or pictures.shape[3] != 3 or pictures.dtype != np.uint8:
                raise DemonstrationError(
                    f"images[{name}]: {pictures.dtype} {pictures.shape}; expected uint8 ({steps}, h, w, 3)"
                )

    def save(self, folder: Path) -> Path:
        """Write `episode_<id>.npz` into a folder, whole or not at all; returns its path."""
        path = folder / f"episode_{self.id:06d}.npz"
        arrays = {IMAGE + name: pictures for name, pictures in self.images.items()}
        if self.offset is not None:
            arrays["offset"] = self.offset
        with written_aside(path) as aside, aside.open("wb") as file:
            np.savez_compressed(
                file,
                **arrays,
                id=self.id,
                proprio=self.proprio,
                actions=self.actions,
                success=self.success,
                instruction=self.instruction,
            )
        return path

    @staticmethod
    def load(path: Path) -> Demonstration:
        """The inverse of `save`. Raises DemonstrationError naming the file and what is wrong with it."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                images = {name[len(IMAGE) :]: arrays[name] for name in arrays.files if name.startswith(IMAGE)}
                vectors = {name: arrays[name] for name in ("proprio", "actions", "offset") if name in arrays.files}
                rest = {"success": bool(arrays["success"]), "instruction": str(arrays["instruction"])}
                return Demonstration(int(arrays["id"]), images, **vectors, **rest)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise DemonstrationError(f"{path}: {error}") from error


def load_all(folder: Path) -> list[Demonstration]:
    """All episodes of a folder in the order of their ids. Raises DemonstrationError if there are none or one is bad."""
    paths = sorted(folder.glob("episode_*.npz"))
    if not paths:
        raise DemonstrationError(f"{folder}: no episode_*.npz in it")
    return [Demonstration.load(path) for path in paths]


@dataclass(frozen=True)
class Frames:
    """All frames of a set of demonstrations, stacked; N frames in all.

    images: camera name to uint8 (N, h, w, 3). proprio: float32 (N, 19), SI units. offset: float32 (N, 2), m; None
    where a demonstration has none.
    targets: float32 (N, H, 7), the executed actions of this and the next H - 1 steps; beyond the end of the episode a
    hold: zero delta, last gripper state. valid: bool (N, H), False there; such steps must not be learned.
    """

    images: dict[str, np.ndarray]
    proprio: np.ndarray
    offset: np.ndarray | None
    targets: np.ndarray
    valid: np.ndarray

    @staticmethod
    def of(demonstrations: Sequence[Demonstration], horizon: int) -> Frames:
        """Stack demonstrations. Raises DemonstrationError where two of them have other cameras or picture sizes."""
        first = demonstrations[0]
        for other in demonstrations:
            _same_cameras(first, other)
        offsets = [d.offset for d in demonstrations]
        windows = [chunk_targets(d.actions, horizon) for d in demonstrations]
        return Frames(
            images={name: np.concatenate([d.images[name] for d in demonstrations]) for name in first.images},
            proprio=np.concatenate([d.proprio for d in demonstrations]),
            offset=None if any(o is None for o in offsets) else np.concatenate(offsets),
            targets=np.concatenate([targets for targets, _ in windows]),
            valid=np.concatenate([valid for _, valid in windows]),
        )

    def __len__(self) -> int:
        return len(self.proprio)


def chunk_targets(actions: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets (T, horizon, A) and their validity (T, horizon) for actions (T, A); see `Frames`."""
    steps = len(actions)
    hold = np.zeros_like(actions[:1])
    hold[0, -1] = actions[-1, -1]
    padded = np.concatenate([actions, np.repeat(hold, horizon - 1, axis=0)])
    index = np.arange(steps)[:, None] + np.arange(horizon)
    return padded[index], index < steps


def _same_cameras(a: Demonstration, b: Demonstration) -> None:
    shapes = [{name: pictures.shape[1:] for name, pictures in d.images.items()} for d in (a, b)]
    if shapes[0] != shapes[1]:
        raise DemonstrationError(f"images: {shapes[0]} in demonstration {a.id}, {shapes[1]} in {b.id}")

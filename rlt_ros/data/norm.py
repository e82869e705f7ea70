"""Normalisation statistics: made once from the demonstrations, saved with the checkpoint, read by everybody else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CONSTANT = 1e-6
"""A dimension whose standard deviation is below this never moved; it is shifted to zero and not scaled."""
LIMIT = 10.0
"""Normalised values are clipped to this many standard deviations: a first hard contact must not blind the networks."""
MOMENTS = ("mean", "std", "q01", "q99")


@dataclass(frozen=True)
class NormStats:
    """Statistics of a vector over all frames of a dataset, in the vector's own units.

    names: one a dimension. mean, std: float64 (P,). q01, q99: float64 (P,), 1 % and 99 % quantiles.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    std: np.ndarray
    q01: np.ndarray
    q99: np.ndarray

    def __post_init__(self) -> None:
        for field in MOMENTS:
            values = getattr(self, field)
            if values.shape != (len(self.names),):
                raise ValueError(f"{field} has shape {values.shape}; expected ({len(self.names)},)")
            if not np.isfinite(values).all():
                raise ValueError(f"{field} of {self.names[int(np.argmin(np.isfinite(values)))]} is not finite")

    @staticmethod
    def of(values: np.ndarray, names: Sequence[str]) -> NormStats:
        """Statistics of frames (N, P). Raises ValueError when there are none or a value is not finite."""
        if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] != len(names):
            raise ValueError(f"frames have shape {values.shape}; expected (N > 0, {len(names)})")
        exact = values.astype(np.float64)
        q01, q99 = np.quantile(exact, [0.01, 0.99], axis=0)
        return NormStats(tuple(names), exact.mean(axis=0), exact.std(axis=0), q01, q99)

    @property
    def scale(self) -> np.ndarray:
        """What a deviation is divided by, float64 (P,): the standard deviation, 1 where the dimension is constant."""
        return np.where(self.std < CONSTANT, 1.0, self.std)

    def normalise(self, values: np.ndarray) -> np.ndarray:
        """Values (..., P) in standard deviations from the mean, clipped to +-`LIMIT`, float32."""
        return np.clip((values - self.mean) / self.scale, -LIMIT, LIMIT).astype(np.float32)

    def denormalise(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `normalise` inside the limit, float32."""
        return (values * self.scale + self.mean).astype(np.float32)

    def outside(self, values: np.ndarray, margin: float = 0.5) -> tuple[str, ...]:
        """Names of dimensions of values (P,) beyond q01..q99, widened by margin times that range (report A26)."""
        slack = margin * (self.q99 - self.q01) + CONSTANT
        strange = (values < self.q01 - slack) | (values > self.q99 + slack)
        return tuple(name for name, odd in zip(self.names, strange) if odd)

    @property
    def hash(self) -> str:
        """SHA-256 of names and numbers; two sides that normalise alike have the same."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, list]:
        """The content as plain lists; JSON keeps every bit of a float64."""
        return {"names": list(self.names)} | {field: getattr(self, field).tolist() for field in MOMENTS}

    @staticmethod
    def from_dict(content: Mapping[str, list]) -> NormStats:
        """The inverse of `to_dict`. Raises ValueError naming a missing or unknown key."""
        expected = {"names", *MOMENTS}
        if set(content) != expected:
            raise ValueError(f"keys {sorted(content)}; expected {sorted(expected)}")
        arrays = {field: np.array(content[field], dtype=np.float64) for field in MOMENTS}
        return NormStats(names=tuple(content["names"]), **arrays)

    def save(self, path: Path) -> None:
        """Write JSON."""
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> NormStats:
        """Read JSON. Raises ValueError with the file's name when it is missing or malformed."""
        try:
            return NormStats.from_dict(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: not normalisation statistics: {error}") from error

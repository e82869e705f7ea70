"""Statistics of features as LeRobot keeps them: per episode and over the dataset.

Every feature has min, max, mean, std, count and five quantiles; a camera's are per channel, of shape (3, 1, 1), in
[0, 1]. Those of an episode are exact. Over several episodes quantiles cannot be had from quantiles: LeRobot keeps the
outermost ones, and so does this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)
SIDE = 150
"""Larger pictures are thinned to about this many pixels a side before they are counted."""

Stats = dict[str, np.ndarray]


def vector_stats(values: np.ndarray) -> Stats:
    """Statistics of values (T, ..., D) over everything but the last axis; (T,) counts as (T, 1)."""
    rows = values.reshape(len(values), -1) if values.ndim == 1 else values.reshape(-1, values.shape[-1])
    exact = rows.astype(np.float64)
    found = np.quantile(exact, list(QUANTILES.values()), axis=0)
    return {
        "min": exact.min(axis=0),
        "max": exact.max(axis=0),
        "mean": exact.mean(axis=0),
        "std": exact.std(axis=0),
        "count": np.array([len(values)], dtype=np.int64),
    } | dict(zip(QUANTILES, found))


class PictureStats:
    """Counts the levels of a camera's pictures, so that the statistics are exact without keeping a picture."""

    def __init__(self) -> None:
        self._levels = np.zeros((3, 256), dtype=np.int64)
        self._pictures = 0

    def add(self, rgb: np.ndarray) -> None:
        """Count one picture, uint8 (h, w, 3)."""
        step = max(1, max(rgb.shape[:2]) // SIDE)
        thin = rgb[::step, ::step]
        for channel in range(3):
            self._levels[channel] += np.bincount(thin[..., channel].ravel(), minlength=256)
        self._pictures += 1

    def result(self) -> Stats:
        """The statistics of all pictures so far, at least one."""
        channels = [_level_stats(counts) for counts in self._levels]
        stats = {name: np.array([c[name] for c in channels]).reshape(3, 1, 1) for name in channels[0]}
        return stats | {"count": np.array([self._pictures], dtype=np.int64)}


def _level_stats(counts: np.ndarray) -> dict[str, float]:
    levels, total = np.arange(256) / 255.0, counts.sum()
    seen, below = np.flatnonzero(counts), np.cumsum(counts)
    mean = float(counts @ levels / total)
    quantiles = {name: levels[np.searchsorted(below, q * total)] for name, q in QUANTILES.items()}
    return {
        "min": levels[seen[0]],
        "max": levels[seen[-1]],
        "mean": mean,
        "std": float(np.sqrt(counts @ np.square(levels - mean) / total)),
    } | quantiles


def aggregate(parts: Sequence[dict[str, Stats]]) -> dict[str, Stats]:
    """Statistics over several episodes, by feature; a statistic that one of them lacks is left out."""
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: _aggregate([part[key] for part in parts if key in part]) for key in keys}


def _aggregate(parts: Sequence[Stats]) -> Stats:
    stacked = {name: np.stack([np.asarray(part[name]) for part in parts]) for name in NAMES[:5]}
    count = stacked["count"].astype(np.float64)
    weight = count.reshape(len(parts), *[1] * (stacked["mean"].ndim - 1)) / count.sum()
    mean = (stacked["mean"] * weight).sum(axis=0)
    variance = ((np.square(stacked["std"]) + np.square(stacked["mean"] - mean)) * weight).sum(axis=0)
    result = {
        "min": stacked["min"].min(axis=0),
        "max": stacked["max"].max(axis=0),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": stacked["count"].sum(axis=0),
    }
    shared = [name for name in QUANTILES if all(name in part for part in parts)]
    ends = {name: np.min if QUANTILES[name] <= 0.5 else np.max for name in shared}
    return result | {name: ends[name](np.stack([part[name] for part in parts]), axis=0) for name in shared}


def to_lists(stats: dict[str, Stats]) -> dict[str, dict[str, list]]:
    """The content for JSON."""
    return {key: {name: np.asarray(value).tolist() for name, value in part.items()} for key, part in stats.items()}


def from_lists(content: dict[str, dict[str, list]]) -> dict[str, Stats]:
    """The inverse of `to_lists`; a bare number becomes an array of one."""
    return {key: {n: np.atleast_1d(np.asarray(v)) for n, v in part.items()} for key, part in content.items()}

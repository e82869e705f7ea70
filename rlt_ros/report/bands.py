"""Rolling figures of episodes with the band in which 95 of 100 repetitions would lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

WINDOW = 20
"""Episodes, as many as in the status line."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Band:
    """middle, low, high: (n,) each, one for every episode from the first on; early windows are shorter."""

    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


def wilson(successes: int, episodes: int) -> tuple[float, float]:
    """95 % interval of a rate. episodes: at least 1."""
    interval = binomtest(int(successes), int(episodes)).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def rolling_rate(success: np.ndarray, window: int = WINDOW) -> Band:
    """Share of successes among the last episodes. success: bool (n,)."""
    counts = [(int(part.sum()), len(part)) for part in _windows(success, window)]
    ends = np.array([wilson(*count) for count in counts]).reshape(-1, 2)
    return Band(np.array([k / n for k, n in counts]), ends[:, 0], ends[:, 1])


def rolling_mean(values: np.ndarray, window: int = WINDOW) -> Band:
    """Mean of the last episodes, its band from resampled windows; the same values give the same band."""
    draws = np.random.default_rng(0)
    ends = []
    for part in _windows(values, window):
        means = draws.choice(part, (RESAMPLES, len(part))).mean(axis=1)
        ends.append(np.quantile(means, (0.025, 0.975)))
    low, high = np.array(ends).reshape(-1, 2).T
    return Band(np.array([part.mean() for part in _windows(values, window)]), low, high)


def _windows(values: np.ndarray, window: int) -> list[np.ndarray]:
    return [values[max(0, end - window) : end] for end in range(1, len(values) + 1)]

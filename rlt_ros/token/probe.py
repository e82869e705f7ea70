"""A linear probe: how precisely does a vector tell where the hole is?"""

from __future__ import annotations

import numpy as np

RIDGE = 1e-3
"""Weight of the penalty, a frame; inputs are standardised."""


def probe(inputs: np.ndarray, offsets: np.ndarray, groups: np.ndarray, near: float = 0.006) -> float:
    """Error in mm (root mean square over x and y) of a ridge regression from inputs (N, F) to offsets (N, 2) in m.

    Only frames with the tip nearer to the hole than `near` (m) count. groups: int (N,), the episode of a frame; every
    fourth one is held out and scored. NaN when there are too few frames.
    """
    close = np.hypot(offsets[:, 0], offsets[:, 1]) < near
    held = close & (groups % 4 == 0)
    seen = close & ~held
    if held.sum() < 2 or seen.sum() < 2:
        return float("nan")
    weights = _ridge(inputs[seen], offsets[seen])
    error = _augmented(inputs[held], inputs[seen]) @ weights - offsets[held]
    return float(1e3 * np.sqrt(np.mean(np.square(error))))


def _ridge(inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    x = _augmented(inputs, inputs)
    penalty = RIDGE * len(x) * np.eye(x.shape[1])
    penalty[-1, -1] = 0.0
    return np.linalg.solve(x.T @ x + penalty, x.T @ targets.astype(np.float64))


def _augmented(inputs: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Inputs standardised by the statistics of others, with a column of ones."""
    mean, std = like.mean(axis=0, dtype=np.float64), like.std(axis=0, dtype=np.float64)
    standard = (inputs - mean) / np.where(std < 1e-9, 1.0, std)
    return np.concatenate([standard, np.ones((len(standard), 1))], axis=1)

"""Linear probes: how well does a vector tell where the hole is, and how the episode will end?"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

RIDGE = 1e-3
"""Weight of the penalty, a frame; inputs are standardised."""
NEAR = 0.006
"""Metres from tip to hole, along the board, within which a frame counts."""
EARLY = 10
"""Frames of an episode from which its outcome is told. Later ones tell it by themselves: a peg that is half in by its
height, one that is stuck by how long it stays there.
"""
FOLDS = 4
"""Every so many-th episode is held out."""


def probe(inputs: np.ndarray, offsets: np.ndarray, groups: np.ndarray, near: float = NEAR) -> float:
    """Error in mm (root mean square over x and y) of a ridge regression from inputs (N, F) to offsets (N, 2) in m.

    Only frames with the tip nearer to the hole than `near` (m) count. groups: int (N,), the episode of a frame; every
    fourth one is held out and scored. NaN when there are too few frames.
    """
    close = np.hypot(offsets[:, 0], offsets[:, 1]) < near
    held = close & (groups % FOLDS == 0)
    seen = close & ~held
    if held.sum() < 2 or seen.sum() < 2:
        return float("nan")
    error = _predicted(inputs, offsets, seen, held) - offsets[held]
    return float(1e3 * np.sqrt(np.mean(np.square(error))))


def outcome_probe(inputs: np.ndarray, success: np.ndarray, groups: np.ndarray, counted: np.ndarray) -> float:
    """How well a ridge regression from inputs (N, F) tells episodes that succeed from those that fail.

    success: bool (N,) of a frame's episode. groups: int (N,), its number; each fourth of the episodes is scored by a
    regression on the others, an episode by the mean over its frames. counted: bool (N,), frames that take part.
    Returns the area under the ROC curve: 0.5 is chance, 1 is perfect. NaN when all episodes end alike.
    """
    scores = np.full(len(groups), np.nan)
    for fold in range(FOLDS):
        held = counted & (groups % FOLDS == fold)
        seen = counted & ~(groups % FOLDS == fold)
        if held.any() and len(np.unique(success[seen])) == 2:
            scores[held] = _predicted(inputs, np.where(success, 1.0, -1.0)[:, None], seen, held)[:, 0]
    episodes = np.unique(groups[~np.isnan(scores)])
    of_episode = [~np.isnan(scores) & (groups == episode) for episode in episodes]
    return area_under_curve(
        np.array([scores[rows].mean() for rows in of_episode]),
        np.array([success[rows][0] for rows in of_episode], bool),
    )


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a positive one scores above a negative one, ties count half; NaN without both."""
    count = int(positive.sum())
    if count in (0, len(positive)):
        return float("nan")
    ranks = rankdata(scores)[positive].sum()
    return float((ranks - count * (count + 1) / 2) / (count * (len(positive) - count)))


def before_the_outcome(offsets: np.ndarray | None, groups: np.ndarray) -> np.ndarray:
    """Frames (N,) that foretell: the first `EARLY` ones near the hole; where offsets are not known, those that follow
    the first half of the shortest episode.
    """
    near = np.ones(len(groups), bool) if offsets is None else np.hypot(offsets[:, 0], offsets[:, 1]) < NEAR
    episodes = [np.flatnonzero(groups == episode) for episode in np.unique(groups)]
    begin = min(len(rows) for rows in episodes) // 2 if offsets is None else 0
    chosen = np.zeros(len(groups), dtype=bool)
    for rows in episodes:
        chosen[rows[near[rows]][begin : begin + EARLY]] = True
    return chosen


def _predicted(inputs: np.ndarray, targets: np.ndarray, seen: np.ndarray, held: np.ndarray) -> np.ndarray:
    return _augmented(inputs[held], inputs[seen]) @ _ridge(inputs[seen], targets[seen])


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

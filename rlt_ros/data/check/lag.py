"""By how many steps the arm follows its actions: rows that were shifted against each other show as the wrong number.

The correlation of actions with the movement in the steps around them has its peak at the lag of controller and arm,
a step or two. Slow changes, which look alike whatever the lag, are taken out of both first. A peak before the action is
no arm: causes come first. A shift smaller than the arm's own lag, and one the other way, hide in it and cannot be told
from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.view import POSITION, EpisodeView

AROUND = 10
"""Steps before and after that are looked at, at most."""
SLOW = 6
"""Steps on either side over which the mean is taken that counts as a slow change."""
CLEAR, CHANCE, MARGIN = 0.15, 4.0, 0.05
"""Correlation that a peak must have; standard deviations of chance that it must have; its height above others."""
TRANSLATION = ("dx", "dy", "dz")


@dataclass(frozen=True)
class LagSums:
    """Sums over the frames of an episode that correlations are made of, one entry a lag from -AROUND to AROUND."""

    frames: np.ndarray
    products: np.ndarray
    actions: np.ndarray
    moves: np.ndarray

    def __add__(self, other: LagSums) -> LagSums:
        frames = self.frames + other.frames
        return LagSums(frames, self.products + other.products, self.actions + other.actions, self.moves + other.moves)

    @property
    def correlations(self) -> np.ndarray:
        """(2 * AROUND + 1,); 0 where nothing moves."""
        power = np.sqrt(self.actions * self.moves)
        return np.divide(self.products, power, out=np.zeros_like(power), where=power > 0)


def lag_sums(view: EpisodeView) -> LagSums | None:
    """None where the state has no position, the actions' meaning is not known, or the episode is too short."""
    if view.action is None or not view.action.names or not view.has(POSITION) or len(view) < 4 * AROUND:
        return None
    actions = view.action.of(TRANSLATION)[:-1]
    moves = np.diff(view.state.of(POSITION), axis=0)
    actions, moves = _quick(actions), _quick(moves)
    pairs = [_shifted(actions, moves, lag) for lag in range(-AROUND, AROUND + 1)]
    sums = [(len(a), np.sum(a * m), np.sum(a * a), np.sum(m * m)) for a, m in pairs]
    return LagSums(*np.array(sums, dtype=np.float64).T)


def lag(sums: Sequence[LagSums | None], fps: float, limits: Limits) -> Iterator[Finding]:
    """Over the whole dataset: an arm that moves before its actions, or long after them."""
    known = [part for part in sums if part is not None]
    if not known:
        return
    whole = sum(known[1:], start=known[0])
    correlations = whole.correlations
    peak = int(np.argmax(correlations))
    steps, strength, causal = peak - AROUND, correlations[peak], correlations[AROUND:].max()
    if strength < max(CLEAR, CHANCE / np.sqrt(len(TRANSLATION) * whole.frames[peak])):
        return
    found = f"the arm follows its actions by {steps} steps (correlation {strength:.2f})"
    if steps < 0 and strength > causal + MARGIN:
        expected = f"0 steps or more (there {causal:.2f}); rows of state and action are shifted"
        yield Finding(ERROR, "shift", found, expected, column="action")
    elif steps / fps > limits.lag_seconds:
        yield Finding(WARNING, "lag", found, f"{limits.lag_seconds:g} s at most", column="action")


def _quick(values: np.ndarray) -> np.ndarray:
    """Values (T, n) without their slow changes; the ends, where no mean is known, are cut off."""
    kernel = np.full(2 * SLOW + 1, 1.0 / (2 * SLOW + 1))
    slow = np.stack([np.convolve(column, kernel, mode="valid") for column in values.T], axis=1)
    return values[SLOW:-SLOW] - slow


def _shifted(actions: np.ndarray, moves: np.ndarray, lag: int) -> tuple[np.ndarray, np.ndarray]:
    """Actions and the movements `lag` steps later."""
    return (actions[:-lag], moves[lag:]) if lag > 0 else (actions[-lag:], moves[: len(moves) + lag])

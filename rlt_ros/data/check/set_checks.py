"""What only several episodes together show."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.tally import EpisodeTally, Tally

MUST_MOVE = ("x", "y", "z", "dx", "dy", "dz")
"""Without these there is nothing to learn; others may have nothing to do."""
MAY_REST = ("gripper_width", "gripper")
"""A task that only holds its part never moves them."""

RARE = 0.2
"""Share of the episodes in which something may be different and still be the exception."""


def constant(tally: Tally, absent: tuple[str, ...]) -> Iterator[Finding]:
    """Dimensions that never change; absent: names of ours that the mapping says the dataset does not have."""
    for part, columns in tally.columns.items():
        marks, names = tally.quantiles(part), tally.names[part]
        for dim in np.flatnonzero(marks[0] == marks[-1]):
            name = names[dim] if names else ""
            if name not in (*absent, *MAY_REST):
                severity = ERROR if name in MUST_MOVE else WARNING
                found = f"{marks[0, dim]:.6g} in all {sum(e.frames for e in tally.episodes)} frames"
                yield Finding(severity, "constant", found, "a value that changes", column=columns[dim])


def constant_in_one(tally: Tally, limits: Limits) -> Iterator[Finding]:
    """A dimension that stands still in an episode, though it moves in nearly all others: a sensor dropped out."""
    for part, columns in tally.columns.items():
        known = [e for e in tally.episodes if part in e.spread and e.frames >= limits.min_frames]
        if not known:
            continue
        spread = np.stack([episode.spread[part] for episode in known])
        rests = spread <= limits.moving
        suspicious = rests & (rests.sum(axis=0) <= RARE * len(known)) & (_longest(tally.names[part], spread) > 0)
        for row, dim in np.argwhere(suspicious):
            found = f"{_value(known[row], part, dim):.6g} in all {known[row].frames} frames"
            expected = f"a value that changes, as in {len(known) - rests[:, dim].sum()} of {len(known)} episodes"
            yield Finding(ERROR, "constant", found, expected, known[row].index, None, columns[dim])


def outliers(tally: Tally, limits: Limits) -> Iterator[Finding]:
    """Values far beyond all others, where units are not known: judged by the ranges of the other episodes."""
    for part, columns in tally.columns.items():
        known = [episode for episode in tally.episodes if getattr(episode, part) is not None]
        if tally.names[part] or not known:
            continue
        marks = np.stack([getattr(episode, part) for episode in known])
        middle = np.median(marks[:, 2], axis=0)
        reach = np.median(marks[:, 3] - marks[:, 1], axis=0) + np.median(np.abs(marks[:, 2] - middle), axis=0)
        beyond = np.maximum(np.abs(marks[:, 0] - middle), np.abs(marks[:, -1] - middle))
        for row, dim in np.argwhere((beyond > limits.wild_ranges * reach) & (reach > limits.moving)):
            found = f"{marks[row, 0, dim]:.4g} to {marks[row, -1, dim]:.4g}"
            expected = f"about {middle[dim]:.4g} +- {reach[dim]:.4g}, as in other episodes; another unit?"
            yield Finding(ERROR, "wild", found, expected, known[row].index, None, columns[dim])


def gripper_others(tally: Tally, limits: Limits) -> Iterator[Finding]:
    """Episodes in which the gripper never changes, though it does in nearly all others (report D01)."""
    known = [e for e in tally.episodes if e.gripper is not None and e.frames >= limits.min_frames]
    never = [episode for episode in known if episode.gripper == 0]
    if known and 0 < len(never) <= (1.0 - limits.gripper_others) * len(known) + 1e-9:
        expected = f"changes, as in {len(known) - len(never)} of {len(known)} episodes"
        for episode in never:
            yield Finding(ERROR, "gripper-never", "the command never changes", expected, episode.index)


def swapped(tally: Tally, limits: Limits) -> Iterator[Finding]:
    """Episodes whose cameras look like each other's in all other episodes."""
    whole = [episode for episode in tally.episodes if episode.means]
    for one, other in combinations(whole[0].means if len(whole) > 2 else (), 2):
        both = [episode for episode in whole if {one, other} <= set(episode.means)]
        usual = {key: np.median([episode.means[key] for episode in both], axis=0) for key in (one, other)}
        for episode in both:
            straight = _apart(episode.means[one], usual[one]) + _apart(episode.means[other], usual[other])
            crossed = _apart(episode.means[one], usual[other]) + _apart(episode.means[other], usual[one])
            if crossed < limits.swapped_ratio * straight:
                found = (
                    f"{crossed:.0f} of 255 from the usual pictures if exchanged with {one}, {straight:.0f} as they are"
                )
                yield Finding(
                    ERROR, "cameras-swapped", found, "the same views as elsewhere", episode.index, None, other
                )


def twice(tally: Tally) -> Iterator[Finding]:
    """Episodes with the same numbers: a merge gone wrong; in training and validation both they flatter."""
    first: dict[str, int] = {}
    for episode in tally.episodes:
        if episode.digest and first.setdefault(episode.digest, episode.index) != episode.index:
            found = f"the same states and actions as episode {first[episode.digest]}"
            yield Finding(WARNING, "episode-twice", found, "another demonstration", episode.index)


def outcomes(tally: Tally) -> Iterator[Finding]:
    """Demonstrations of which none succeeded."""
    if tally.episodes and all(episode.success is False for episode in tally.episodes):
        yield Finding(WARNING, "no-success", f"none of {len(tally.episodes)} episodes", "some that succeed")


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).mean())


def _value(episode: EpisodeTally, part: str, dim: int) -> float:
    return float(getattr(episode, part)[0, dim])


def _longest(names: tuple[str, ...], spread: np.ndarray) -> np.ndarray:
    """Standard deviation that a dimension has in most episodes, (n,); 0 for those that may rest."""
    usual = np.median(spread, axis=0)
    return np.where([name in MAY_REST for name in names], 0.0, usual) if names else usual

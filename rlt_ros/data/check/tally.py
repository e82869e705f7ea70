"""What remains of an episode when its frames are gone, and what they say together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.data.check.gripper_checks import transitions
from rlt_ros.data.check.lag import LagSums, lag_sums
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.picture_checks import longest_still
from rlt_ros.data.check.sample import Sample
from rlt_ros.data.check.signals import Signals
from rlt_ros.data.check.view import EpisodeView

MARKS = (0.0, 0.01, 0.5, 0.99, 1.0)
"""Quantiles that are kept of every dimension: ends, q01, median, q99."""


@dataclass(frozen=True)
class EpisodeTally:
    """An episode in figures.

    frames and seconds: its length. success: None where the meaning of columns is not known. gripper: changes of the
    command, None where not known. still: frames of the longest run of one picture, by camera. state, action: `MARKS`
    of every dimension, (5, n); None where they cannot be read. spread: standard deviations of state and action. means:
    thinned mean picture by camera. digest: of all numbers of state and action. lag: see `lag`.
    """

    index: int
    frames: int
    seconds: float
    tasks: tuple[str, ...]
    success: bool | None
    gripper: int | None
    still: dict[str, int]
    state: np.ndarray | None
    action: np.ndarray | None
    spread: dict[str, np.ndarray]
    means: dict[str, np.ndarray]
    digest: str
    lag: LagSums | None


@dataclass
class Tally:
    """All episodes. state_columns, action_columns: names of the dimensions, of the first readable episode."""

    episodes: list[EpisodeTally] = field(default_factory=list)
    state: Sample = field(default_factory=Sample)
    action: Sample = field(default_factory=Sample)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, view: EpisodeView, limits: Limits) -> None:
        """Take in an episode."""
        self.episodes.append(_tally(view, limits))
        for part, signals, sample in (("state", view.state, self.state), ("action", view.action, self.action)):
            if signals is not None:
                self.columns.setdefault(part, signals.columns)
                self.names.setdefault(part, signals.names)
                sample.add(signals.values)

    def quantiles(self, part: str) -> np.ndarray:
        """`MARKS` over all frames, (5, n); of "state" or "action"."""
        rows = (self.state if part == "state" else self.action).rows
        return np.quantile(rows, MARKS, axis=0) if rows.size else np.zeros((len(MARKS), 0))


def _tally(view: EpisodeView, limits: Limits) -> EpisodeTally:
    known = {name: signals for name, signals in (("state", view.state), ("action", view.action)) if signals is not None}
    return EpisodeTally(
        index=view.index,
        frames=len(view),
        seconds=len(view) / view.fps,
        tasks=tuple(dict.fromkeys(view.episode.record.tasks)),
        success=view.meaning.success(view.episode) if view.meaning else None,
        gripper=transitions(view),
        still={key: longest_still(trace, limits) for key, trace in view.cameras.items()},
        state=_marks(view.state),
        action=_marks(view.action),
        spread={name: signals.values.std(axis=0) for name, signals in known.items()},
        means={key: trace.mean for key, trace in view.cameras.items() if len(trace)},
        digest=hashlib.sha256(b"".join(s.values.tobytes() for s in known.values())).hexdigest() if known else "",
        lag=lag_sums(view),
    )


def _marks(signals: Signals | None) -> np.ndarray | None:
    return None if signals is None else np.quantile(signals.values, MARKS, axis=0)

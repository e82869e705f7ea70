"""An episode as the checks see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.data.check.cameras import CameraTrace
from rlt_ros.data.check.findings import ERROR, Finding
from rlt_ros.data.check.meaning import Meaning
from rlt_ros.data.check.signals import Signals, raw
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.mapping import ACTION, STATE

POSITION, ROTATION = ("x", "y", "z"), ("rx", "ry", "rz")
VELOCITY, TURN = ("vx", "vy", "vz"), ("wx", "wy", "wz")


@dataclass
class EpisodeView:
    """T frames. state, action: None where the dataset has none, or where they cannot be read. meaning: None where the
    columns' meaning is not known. cameras: by key; empty where pictures are not looked at.
    problems: why state or action cannot be read."""

    episode: Episode
    fps: float
    state: Signals | None
    action: Signals | None
    meaning: Meaning | None
    cameras: dict[str, CameraTrace] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)

    @property
    def index(self) -> int:
        """Number of the episode in the dataset."""
        return self.episode.index

    def __len__(self) -> int:
        return len(self.episode)

    def has(self, names: Sequence[str]) -> bool:
        """Whether the state has these, in SI units."""
        absent = self.meaning.mapping.state.absent if self.meaning else ()
        return bool(self.state and self.state.names) and not set(names) & set(absent)


def view(episode: Episode, fps: float, meaning: Meaning | None, finite: bool) -> EpisodeView:
    """An episode without its pictures. finite: whether its numbers are; what is not finite is not looked at further."""
    if not finite:
        return EpisodeView(episode, fps, None, None, None)
    if meaning is not None and meaning.complete:
        result = EpisodeView(episode, fps, None, None, meaning)
        result.state = _read(result, "state-range", STATE, lambda: meaning.state(episode))
        if result.state is not None:
            result.action = _read(result, "action-range", ACTION, lambda: meaning.action(episode, result.state))
        return result
    state, action = (raw(episode, key) if key in episode.arrays else None for key in (STATE, ACTION))
    return EpisodeView(episode, fps, state, action, None)


def _read(result: EpisodeView, code: str, column: str, read: Callable[[], Signals]) -> Signals | None:
    try:
        return read()
    except DatasetError as error:
        result.problems.append(Finding(ERROR, code, str(error), "", result.index, column=column))
        return None


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and one past the last index of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags.astype(bool), [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))

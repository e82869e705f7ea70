"""The gripper: how often it changes, and whether command and width say the same (reports A09, D01)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.data.check.findings import ERROR, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.view import EpisodeView

SETTLED = 0.5
"""s after a change of the command until the width is believed."""
EXTREME = 0.05
"""Share of the opening within which a gripper is fully open or fully closed."""


def commanded(view: EpisodeView) -> np.ndarray | None:
    """Held command of every frame, +1 open, -1 closed, 0 before the first clear one; None where it is not known.

    Without a meaning, the two halves of what an element named gripper goes through.
    """
    if view.action is None:
        return None
    if view.action.names:
        return _held(view.action.of(["gripper"])[:, 0], view.meaning.robot.gripper.hysteresis)
    named = [i for i, column in enumerate(view.action.columns) if "gripper" in column.lower()]
    if not named:
        return None
    values = view.action.values[:, named[0]]
    span = np.ptp(values)
    return _held(2.0 * (values - values.min()) / span - 1.0 if span > 0 else np.ones(len(values)), 0.3)


def transitions(view: EpisodeView) -> int | None:
    """Changes of the held command in an episode; None where it is not known."""
    held = commanded(view)
    return None if held is None else int((np.diff(held[held != 0]) != 0).sum())


def gripper(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Labels that were lost, and a sign that is the wrong way round."""
    held = commanded(view)
    if held is None or not view.has(["gripper_width"]) or view.meaning is None:
        return
    column, robot = view.action.column("gripper"), view.meaning.robot.gripper
    opening = robot.open_width - robot.closed_width
    share = (view.state.of(["gripper_width"])[:, 0] - robot.closed_width) / opening
    if not transitions(view) and np.ptp(share) > limits.gripper_change:
        found = f"never changes, while the width goes from {share.min():.0%} to {share.max():.0%} of the opening"
        expected = "a command for every change of width"
        yield Finding(ERROR, "gripper-labels", found, expected, view.index, _first(share, limits), column)
    elif _inverted(held, share, view.fps):
        found = f"width {_median(share, held < 0)} of the opening when closed, {_median(share, held > 0)} when open"
        yield Finding(
            ERROR, "gripper-sign", found, "closed is narrower than open; another sign?", view.index, None, column
        )


def _inverted(held: np.ndarray, share: np.ndarray, fps: float) -> bool:
    settled = _settled(held, fps)
    closed, opened = share[settled & (held < 0)], share[settled & (held > 0)]
    if closed.size and opened.size:
        return bool(np.median(closed) > np.median(opened) + EXTREME)
    return bool(closed.size and closed.min() > 1 - EXTREME) or bool(opened.size and opened.max() < EXTREME)


def _settled(held: np.ndarray, fps: float) -> np.ndarray:
    """Frames whose command is `SETTLED` seconds old, bool (T,)."""
    wait = max(1, round(SETTLED * fps))
    return np.array([k >= wait and (held[k - wait : k + 1] == held[k]).all() for k in range(len(held))], dtype=bool)


def _held(values: np.ndarray, hysteresis: float) -> np.ndarray:
    held, state = np.zeros(len(values), dtype=np.int8), 0
    for k, value in enumerate(values):
        state = 1 if value > hysteresis else -1 if value < -hysteresis else state
        held[k] = state
    return held


def _first(share: np.ndarray, limits: Limits) -> int:
    return int(np.argmax(np.abs(share - share[0]) > limits.gripper_change / 2))


def _median(share: np.ndarray, chosen: np.ndarray) -> str:
    return f"{np.median(share[chosen]):.0%}" if chosen.any() else "unknown"

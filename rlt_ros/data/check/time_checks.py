"""Time: the grid of timestamps (report B24), counted columns, raw stamps (B27)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.data.check.findings import ERROR, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.view import EpisodeView

TIME = "timestamp"
GAP = 1.5
"""Frame times between two timestamps that are a gap and not jitter."""


def timestamps(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Rising, without gaps, frame k at k / fps; the first of the three that fails, once an episode."""
    times = view.episode.timestamps
    # A float32 of some minutes is known to some 10 microseconds.
    slack = limits.time_tolerance + np.spacing(np.abs(times).astype(np.float32)).astype(np.float64)
    steps, off = np.diff(times), np.abs(times - np.arange(len(times)) / view.fps)
    still = np.flatnonzero(steps <= slack[1:])
    gaps = np.flatnonzero(steps > GAP / view.fps)
    strange = np.flatnonzero(off > slack)
    expected = f"{1 / view.fps:.4f} s between frames at {view.fps:g} fps"
    if len(still):
        found = f"{times[still[0]]:.4f} s is followed by {times[still[0] + 1]:.4f} s{_times(still)}"
        yield _finding(view, "timestamp-order", found, expected, int(still[0]) + 1)
    elif len(gaps):
        found = f"{steps[gaps[0]]:.4f} s after the frame before{_times(gaps)}"
        yield _finding(view, "timestamp-gap", found, expected, int(gaps[0]) + 1)
    elif len(strange):
        k = int(strange[0])
        found, expected = (
            f"at {times[k]:.4f} s{_times(strange)}",
            f"{k / view.fps:.4f} s +- {limits.time_tolerance:g} s",
        )
        yield _finding(view, "timestamp-grid", found, expected, k)


def counters(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """frame_index from 0, episode_index the episode's, index by one a frame."""
    arrays, length = view.episode.arrays, len(view)
    for column, expected in (
        ("frame_index", np.arange(length)),
        ("episode_index", np.full(length, view.index)),
        ("index", arrays["index"][:1] + np.arange(length) if "index" in arrays else np.array([])),
    ):
        wrong = np.flatnonzero(arrays[column] != expected) if column in arrays else []
        if len(wrong):
            k = int(wrong[0])
            yield _finding(view, "counter", f"{arrays[column][k]}{_times(wrong)}", f"expected {expected[k]}", k, column)


def stamps(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Raw stamps beside the grid: where they stand still for long, samples were repeated to fill it."""
    for key in stamp_columns(view):
        seconds = np.diff(view.episode.arrays[key].astype(np.int64)) * 1e-9
        back, gaps = np.flatnonzero(seconds < 0), np.flatnonzero(seconds > limits.stamp_gap)
        if len(back):
            found = f"{-seconds[back[0]]:.3f} s before the one of the frame before{_times(back)}"
            yield _finding(view, "stamp-order", found, "raw stamps never fall", int(back[0]) + 1, key)
        if len(gaps):
            found = f"{seconds[gaps[0]]:.3f} s after the one before{_times(gaps)}"
            yield _finding(view, "stamp-gap", found, f"at most {limits.stamp_gap:g} s", int(gaps[0]) + 1, key)


def stamp_columns(view: EpisodeView) -> list[str]:
    """Columns of nanoseconds, as recordings and converted bags keep them."""
    return [key for key, feature in view.episode.features.items() if feature.get("names") == ["nanoseconds"]]


def _finding(view: EpisodeView, code: str, found: str, expected: str, frame: int, column: str = TIME) -> Finding:
    return Finding(ERROR, code, found, expected, view.index, frame, column)


def _times(places: np.ndarray) -> str:
    return f" (and {len(places) - 1} more)" if len(places) > 1 else ""

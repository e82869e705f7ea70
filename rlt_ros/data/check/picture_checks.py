"""Pictures of one episode: missing, blank, frozen, repeated, the same in two cameras."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from rlt_ros.data.check.cameras import CameraTrace
from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.motion import moved
from rlt_ros.data.check.view import EpisodeView, runs


def missing(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Pictures that are not there or cannot be decoded."""
    for key, trace in view.cameras.items():
        if trace.error:
            yield Finding(ERROR, "picture-missing", trace.error, f"{len(view)} pictures", view.index, len(trace), key)


def blank(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Black pictures, and those of one colour."""
    for key, trace in view.cameras.items():
        frames = np.flatnonzero(trace.blank(limits))
        if len(frames):
            k = int(frames[0])
            what = "black" if trace.level[k] < limits.black_level else "of one colour"
            found = f"{what} in {len(frames)} of {len(trace)} frames (mean {trace.level[k]:.0f}, deviation "
            found += f"{trace.contrast[k]:.1f} of 255)"
            expected = f"mean {limits.black_level:g}, deviation {limits.blank_contrast:g} at least"
            yield Finding(ERROR, "blank", found, expected, view.index, k, key)


def frozen(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """A camera that stays the same while the arm moves (report A06); once a camera."""
    for key, trace in view.cameras.items():
        for start, stop in still(trace, limits):
            seconds, moves = (stop - start - 1) / view.fps, moved(view, start, stop, limits)
            if seconds > limits.frozen_seconds and moves:
                found = f"the same picture for {stop - start} frames ({seconds:.2f} s) while {moves}"
                severity, expected = ERROR if view.meaning else WARNING, f"at most {limits.frozen_seconds:g} s"
                yield Finding(severity, "frozen-camera", found, expected, view.index, start, key)
                break


def repeated(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """A camera that is slower than the frame rate of the dataset: it repeats pictures though the arm moves on."""
    for key, trace in view.cameras.items():
        runs_of_same = still(trace, limits)
        brief = max((stop - start - 1 for start, stop in runs_of_same), default=0) / view.fps <= limits.frozen_seconds
        same = {k for start, stop in runs_of_same for k in range(start + 1, stop)}
        if not brief or len(same) <= limits.repeated_share * len(trace):
            continue
        moving = _moving(view, len(trace), limits)
        share = len(same & moving) / max(1, len(moving))
        if share > limits.repeated_share:
            found = f"{share:.0%} of the frames repeat the picture before though the arm moves"
            expected = f"at most {limits.repeated_share:.0%}; is the camera slower than {view.fps:g} fps?"
            yield Finding(WARNING, "repeated-pictures", found, expected, view.index, None, key)


def _moving(view: EpisodeView, frames: int, limits: Limits) -> set[int]:
    """Frames before which the arm moved at a speed at which a camera counts as frozen."""
    share = 1.0 / max(1.0, limits.frozen_seconds * view.fps)
    step = replace(
        limits,
        frozen_translation=share * limits.frozen_translation,
        frozen_rotation=share * limits.frozen_rotation,
        frozen_share=share * limits.frozen_share,
    )
    return {k for k in range(1, frames) if moved(view, k - 1, k + 1, step)}


def still(trace: CameraTrace, limits: Limits) -> list[tuple[int, int]]:
    """First and one past the last frame of every run of the same picture; blank ones are no run."""
    same = np.array(trace.same, dtype=bool) & ~trace.blank(limits)
    return [(start - 1, stop) for start, stop in runs(same)]


def longest_still(trace: CameraTrace, limits: Limits) -> int:
    """Frames of the longest run of the same picture."""
    return max((stop - start for start, stop in still(trace, limits)), default=min(1, len(trace)))


def same_cameras(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Two cameras that show the same throughout."""
    for (first, one), (second, other) in combinations(view.cameras.items(), 2):
        equal = [_alike(a, b) for a, b in zip(one.small, other.small)]
        blanks = one.blank(limits)[: len(equal)]
        if equal and not blanks.all() and np.mean(equal) > 0.9:
            found = f"the same pictures as {first} in {sum(equal)} of {len(equal)} frames"
            yield Finding(ERROR, "same-cameras", found, "two views", view.index, int(np.argmax(equal)), second)


def _alike(a: bytes, b: bytes) -> bool:
    """Whether two thinned pictures differ by no more than encoding does."""
    difference = np.frombuffer(a, np.uint8).astype(np.int16) - np.frombuffer(b, np.uint8)
    return bool(np.abs(difference).mean() <= 1.0)

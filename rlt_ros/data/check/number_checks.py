"""Numbers of one episode: not finite, physically impossible, jumping, standing still, in other units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.motion import asked, turns
from rlt_ros.data.check.signals import elements
from rlt_ros.data.check.view import POSITION, ROTATION, TURN, VELOCITY, EpisodeView, runs
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.mapping import STATE

FORCE, TORQUE = ("fx", "fy", "fz"), ("tx", "ty", "tz")
SLOW, SLOW_TURN = 0.01, 0.03
"""m/s and rad/s below which a measured velocity may be noise."""
ENOUGH = 5
"""Frames faster than that from which units can be told."""


def not_finite(episode: Episode) -> Iterator[Finding]:
    """NaN and infinity, once a dimension."""
    for key, values in episode.arrays.items():
        flat = values.reshape(len(values), -1)
        wrong = ~np.isfinite(flat)
        for dim in np.flatnonzero(wrong.any(axis=0)):
            frames = np.flatnonzero(wrong[:, dim])
            column = elements(episode.features[key], key, flat.shape[1])[dim]
            found = f"{flat[frames[0], dim]} in {len(frames)} of {len(flat)} frames"
            yield Finding(ERROR, "not-finite", found, "expected numbers", episode.index, int(frames[0]), column)


def wild(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Values of the state that no such arm can have: a wrong unit, a broken sensor."""
    for names, bound, unit in (
        (POSITION, limits.reach, "m"),
        (ROTATION, 2 * np.pi, "rad"),
        (VELOCITY, limits.speed, "m/s"),
        (TURN, limits.turn_speed, "rad/s"),
        (FORCE, limits.wrench_force, "N"),
        (TORQUE, limits.wrench_torque, "Nm"),
    ):
        for name in names if view.has(names) else ():
            beyond = np.flatnonzero(np.abs(view.state.of([name])[:, 0]) > bound)
            if len(beyond):
                k = int(beyond[0])
                found = f"{view.state.of([name])[k, 0]:.4g} {unit} in {len(beyond)} of {len(view)} frames"
                where = (view.index, k, view.state.column(name))
                yield Finding(ERROR, "wild", found, f"at most {bound:.4g} {unit} here; another unit?", *where)


def jumps(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Poses that follow each other faster than an arm moves; rotation vectors that wrap."""
    if not view.has((*POSITION, *ROTATION)) or any(wild(view, limits)) or any(units(view, limits)):
        return
    metres = np.linalg.norm(np.diff(view.state.of(POSITION), axis=0), axis=1)
    vectors = view.state.of(ROTATION)
    radians, apart = turns(vectors), np.linalg.norm(np.diff(vectors, axis=0), axis=1)
    wraps = (apart > np.pi) & (radians < np.pi / 2)
    for code, steps, bound, unit, names in (
        ("jump", metres, limits.speed / view.fps, "m", POSITION),
        ("jump", np.where(wraps, 0.0, radians), limits.turn_speed / view.fps, "rad", ROTATION),
        ("rotation-wrap", np.where(wraps, apart, 0.0), np.pi, "rad", ROTATION),
    ):
        beyond = np.flatnonzero(steps > bound)
        if len(beyond):
            k = int(beyond[0])
            found = f"{steps[k]:.3g} {unit} from the frame before{f' ({len(beyond)} times)' if len(beyond) > 1 else ''}"
            where = (view.index, k + 1, "state/" + " ".join(names))
            yield Finding(ERROR, code, found, f"at most {bound:.3g} {unit}", *where)


def units(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Measured velocities against the change of the pose: degrees or millimetres in one of them show here."""
    if any(wild(view, limits)):
        return
    for names, rates, slow in ((POSITION, VELOCITY, SLOW), (ROTATION, TURN, SLOW_TURN)):
        if not view.has((*names, *rates)):
            continue
        change = np.diff(view.state.of(names), axis=0) * view.fps
        measured = (view.state.of(rates)[1:] + view.state.of(rates)[:-1]) / 2
        factor = _factor(np.linalg.norm(change, axis=1), np.linalg.norm(measured, axis=1), slow)
        if not 1.0 / limits.unit_factor <= factor <= limits.unit_factor:
            found = f"the pose changes {factor:.3g} times as fast as {' '.join(rates)} say"
            expected = "about once; another unit in one of them?"
            yield Finding(ERROR, "unit", found, expected, view.index, None, view.state.column(names[0]))


def _factor(change: np.ndarray, measured: np.ndarray, slow: float) -> float:
    """How many times larger changes are than what was measured; 1 where too little moves to say."""
    moving = measured > slow
    return float(np.median(change[moving] / measured[moving])) if moving.sum() >= ENOUGH else 1.0


def frozen_state(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """A state that stays the same to the last bit while the actions move the arm (report A06)."""
    if view.state is None or view.action is None:
        return
    values = view.episode.arrays.get(STATE, view.state.values).reshape(len(view), -1)
    for start, stop in runs((np.diff(values, axis=0) == 0).all(axis=1)):
        seconds, asks = (stop - start) / view.fps, asked(view, start, stop, limits)
        if seconds > limits.frozen_seconds and asks:
            found = f"the same for {stop - start + 1} frames ({seconds:.2f} s) while {asks}"
            severity = ERROR if view.meaning else WARNING
            expected = f"at most {limits.frozen_seconds:g} s"
            yield Finding(severity, "frozen-state", found, expected, view.index, start, STATE)
            return


def short(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Too few frames to learn a chunk from: a key pressed by mistake."""
    if len(view) < limits.min_frames:
        yield Finding(ERROR, "short", f"{len(view)} frames", f"at least {limits.min_frames}", view.index)

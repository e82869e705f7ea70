"""Quaternions as the dataset has them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.view import EpisodeView
from rlt_ros.data.lerobot.columns import Element, stacked
from rlt_ros.data.lerobot.features import element_names, numbers
from rlt_ros.data.lerobot.mapping import QUATERNION


def quaternions(view: EpisodeView, limits: Limits) -> Iterator[Finding]:
    """Of unit length, and without a change of sign: the same rotation, but not the same numbers."""
    if view.state is None:
        return
    for column, paths in _found(view).items():
        values = stacked([Element(path, view.episode.features) for path in paths], view.episode)
        lengths = np.linalg.norm(values, axis=1)
        off = np.flatnonzero(np.abs(lengths - 1.0) > limits.quaternion_norm)
        flips = np.flatnonzero((values[1:] * values[:-1]).sum(axis=1) < 0)
        if len(off):
            k = int(off[0])
            found, expected = f"length {lengths[k]:.4g} in {len(off)} of {len(view)} frames", "length 1"
            yield Finding(ERROR, "quaternion-length", found, expected, view.index, k, column)
        elif len(flips):
            k, severity = int(flips[0]) + 1, WARNING if view.meaning else ERROR
            found = f"the sign of all four changes{f' ({len(flips)} times)' if len(flips) > 1 else ''}"
            yield Finding(severity, "quaternion-sign", found, "one sign throughout", view.index, k, column)


def _found(view: EpisodeView) -> dict[str, list[str]]:
    """Place of each quaternion to its four elements: those that the mapping names, and those that are named so."""
    found = {}
    for key in numbers(view.episode.features):
        names = element_names(view.episode.features[key])
        for name in names:
            prefix = name.removesuffix("qx")
            if name.endswith("qx") and {prefix + part for part in QUATERNION} <= set(names):
                found[f"{key}/{prefix}q"] = [f"{key}/{prefix}{part}" for part in QUATERNION]
    mapped = view.meaning.mapping.state.elements if view.meaning else {}
    paths = [mapped[name] for name in QUATERNION if name in mapped]
    if paths and paths not in found.values():
        found["state/q"] = paths
    return found

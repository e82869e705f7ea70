"""What says whether a token can be used: figures for the checkpoint, and the table that people read."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rlt_ros.tensor import Tensor
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.probe import before_the_outcome, outcome_probe, probe

VECTORS = {"z": "z", "untrained_z": "untrained z", "proprio": "proprio"}
ROWS = {"mm": "hole offset, mm", "auc": "outcome, AUC"}
LEAST = 3.0
"""How many times the reconstruction from z alone has to be below the error of each position's mean."""


def probes(corpus: Corpus, encoded: Mapping[str, Tensor]) -> dict[str, float]:
    """How well each vector (N, F) of `VECTORS` tells hole and outcome; proprioception is added."""
    inputs = {name: z.numpy() for name, z in encoded.items()} | {"proprio": corpus.proprio}
    offset, groups = corpus.frames.offset, corpus.episode
    counted = before_the_outcome(offset, groups)
    found = {}
    for name, values in inputs.items():
        if offset is not None:
            found[f"probe_{name}_mm"] = probe(values, offset, groups)
        found[f"probe_{name}_auc"] = outcome_probe(values, corpus.success, groups, counted)
    return found


def times_below(metrics: Mapping[str, float]) -> float:
    """Error of the position means over that of the reconstruction from z alone."""
    return metrics["position_mean"] / max(metrics["z_alone"], 1e-12)


def table(metrics: Mapping[str, float]) -> list[str]:
    """Lines for people."""
    lines = [" " * 15 + "".join(f"{text:>14}" for text in VECTORS.values())]
    for unit, text in ROWS.items():
        values = [metrics.get(f"probe_{name}_{unit}", math.nan) for name in VECTORS]
        lines.append(f"{text:<15}" + "".join(f"{_number(value):>14}" for value in values))
    times = times_below(metrics)
    verdict = "" if times >= LEAST else f"; expected at least {LEAST:g} times: z_rl says too little (docs/stage1.md)"
    far = f"{times:.1f} times below" if times >= 1.0 else "above it"
    lines.append(
        f"reconstruction from z alone {metrics['z_alone']:.4g} a value, position mean "
        f"{metrics['position_mean']:.4g}: {far}{verdict}"
    )
    return lines


def plain(metrics: Mapping[str, object]) -> dict[str, object]:
    """As JSON can hold it: what could not be measured is null."""
    unknown = {name for name, value in metrics.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: None if name in unknown else _simple(value) for name, value in metrics.items()}


def _simple(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.2f}"

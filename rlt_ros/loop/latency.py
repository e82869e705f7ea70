"""Histograms of durations with bounded memory, as a file in the run directory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FILE = "latency.json"
EDGES = np.logspace(-4.0, 1.0, 101)
"""Edges of the bins [s]: 20 in a decade, so a quantile is right within 12 %. Outside lie two more."""
MEANINGS = {
    "response": "from an observation to the executed step that answers it, as teleop hears both",
    "period": "between two executed steps, as teleop hears them",
    "observation_age": "from an observation's stamp to its arrival at teleop",
}
"""Name of a duration and what it is."""


class Histogram:
    """Counts durations by size."""

    def __init__(self, counts: np.ndarray | None = None, largest: float = 0.0) -> None:
        self.counts = np.zeros(len(EDGES) + 1, np.int64) if counts is None else counts
        self.largest = largest

    def add(self, seconds: float) -> None:
        """Count one; what is not finite is left out."""
        if not np.isfinite(seconds):
            return
        self.counts[np.searchsorted(EDGES, seconds)] += 1
        self.largest = max(self.largest, seconds)

    def quantile(self, share: float) -> float:
        """Upper edge of the bin in which a quantile lies [s], NaN without anything counted."""
        if not self.counts.any():
            return float("nan")
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.counts.sum()))
        return min(self.largest, float(EDGES[place])) if place < len(EDGES) else self.largest


def write(run_dir: Path, histograms: Mapping[str, Histogram]) -> None:
    """Write `latency.json`; it is whole or what it was before, but not waited for. Raises OSError."""
    content = {name: {"counts": h.counts.tolist(), "largest": h.largest} for name, h in histograms.items()}
    aside = run_dir / f".{FILE}.partial"
    aside.write_text(json.dumps({"edges": EDGES.tolist(), "seconds": content}))
    os.replace(aside, run_dir / FILE)


def read(run_dir: Path) -> dict[str, Histogram]:
    """What `write` wrote, empty without a file. Raises ValueError naming a file that is no such thing."""
    path = run_dir / FILE
    if not path.exists():
        return {}
    try:
        return {name: _histogram(entry) for name, entry in json.loads(path.read_text())["seconds"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: {error!r}") from error


def _histogram(entry: Mapping[str, Any]) -> Histogram:
    counts = np.array(entry["counts"], np.int64)
    if counts.shape != (len(EDGES) + 1,):
        raise ValueError(f"{len(counts)} counts; expected {len(EDGES) + 1}")
    return Histogram(counts, float(entry["largest"]))

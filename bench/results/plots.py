"""Plots of the results, drawn from the same data as the tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.sweep.report import pooled

PARTS = {"final": ("deterministic", "tab:blue"), "final_with_noise": ("with noise", "tab:orange")}


def course_plot(data: Mapping[str, Mapping[str, Any]], path: Path, dither: Mapping[str, float]) -> None:
    """Success over minutes of practice for each cell of `main`: pooled with its 95 % interval, and each seed.

    dither: success rate of the VLA with the best held noise, by cell.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(data), figsize=(4.6 * len(data), 3.4), layout="constrained", sharey=True, squeeze=False
    )
    for axis, (cell, seeds) in zip(axes[0], data.items()):
        _draw(axis, seeds)
        if cell in dither:
            axis.axhline(100 * dither[cell], color="grey", linestyle=":", label="VLA with its best noise")
        axis.set_title(f"{cell}, {len(seeds)} seeds")
        axis.set_xlabel("minutes of practice")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("successes of fresh episodes, %")
    axes[0][0].set_ylim(0, 102)
    axes[0][0].legend(loc="lower right", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw(axis: Any, seeds: Mapping[str, Any]) -> None:
    minutes = [0.0, *(moment["minutes"] for moment in next(iter(seeds.values()))["moments"])]
    for part, (name, colour) in PARTS.items():
        before = "base" if part == "final" else "base_with_noise"
        scores = [[s[before] for s in seeds.values()]]
        scores += [[s["moments"][i][part] for s in seeds.values()] for i in range(len(minutes) - 1)]
        found = [pooled(each) for each in scores]
        low, high = ([100 * getattr(p, side) for p in found] for side in ("low", "high"))
        axis.fill_between(minutes, low, high, color=colour, alpha=0.2, linewidth=0)
        axis.plot(minutes, [100 * p.rate for p in found], color=colour, marker="o", markersize=4, label=name)
        for one in range(len(seeds)):
            each = [100 * score[one]["successes"] / score[one]["episodes"] for score in scores]
            axis.plot(minutes, each, color=colour, alpha=0.3, linewidth=0.8)

"""First, middle and last picture of several episodes of one camera."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlt_ros.data.check.findings import Finding
from rlt_ros.data.check.plots import Axes, Figure
from rlt_ros.data.check.survey import Survey

HEAD = ("first frame", "middle", "last frame")
SIDE = 2.0
"""Inches of a picture's width."""
WRONG, QUIET = "#c1121f", "#555555"


def contact_sheet(key: str, episodes: Mapping[int, Mapping[int, np.ndarray]], survey: Survey) -> Figure:
    """episodes: number to frame to picture. An episode with findings about this camera has a red name."""
    rows, tall = max(1, len(episodes)), _tallness(episodes)
    figure = Figure(figsize=(1.7 + 3 * SIDE, 0.8 + rows * (SIDE * tall + 0.28)), layout="constrained")
    figure.suptitle(f"{survey.reader.root.name}: {key}", fontsize=12)
    grid = figure.subplots(rows, 3, squeeze=False)
    for row, (number, pictures) in zip(grid, episodes.items()):
        _row(row, number, pictures, [f for f in survey.findings if f.column == key and f.episode == number], survey)
    for axes, title in zip(grid[0], HEAD):
        axes.annotate(title, (0.5, 1.0), (0, 16), "axes fraction", textcoords="offset points", ha="center", fontsize=11)
    return figure


def _row(
    axes: np.ndarray, number: int, pictures: Mapping[int, np.ndarray], findings: list[Finding], survey: Survey
) -> None:
    length = survey.reader.episodes[number].length
    for place, frame in zip(axes, (0, length // 2, length - 1)):
        _picture(place, pictures.get(frame))
        place.set_title(f"frame {frame}, {frame / survey.reader.fps:.2f} s", fontsize=8, color=QUIET, pad=3)
    codes = "".join(f"\n{code}" for code in dict.fromkeys(finding.code for finding in findings))
    color = WRONG if findings else "black"
    axes[0].set_ylabel(
        f"episode {number}{codes}", fontsize=10, rotation=0, ha="right", va="center", labelpad=8, color=color
    )


def _picture(axes: Axes, picture: np.ndarray | None) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    if picture is None:
        axes.text(0.5, 0.5, "no picture", ha="center", va="center", color=WRONG, transform=axes.transAxes)
        axes.set_box_aspect(0.75)
    else:
        axes.imshow(picture, interpolation="nearest" if max(picture.shape) < 100 else "antialiased")


def _tallness(episodes: Mapping[int, Mapping[int, np.ndarray]]) -> float:
    """Height of a picture by its width."""
    for pictures in episodes.values():
        for picture in pictures.values():
            return picture.shape[0] / picture.shape[1]
    return 0.75

"""First, middle and last picture of several episodes of one camera; where something was found, the picture there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from rlt_ros.data.check.findings import Finding
from rlt_ros.data.check.plots import Axes, Figure
from rlt_ros.data.check.survey import Survey
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import cv2
from rlt_ros.data.lerobot.reader import DatasetReader

HEAD = ("first frame", "middle, or the first finding", "last frame")
EPISODES = 6
"""Episodes on a sheet: up to half of them have findings about the camera, the others are spread over the dataset."""
SIDE, PIXELS = 2.0, 240
"""A picture's width in inches, and its longer side in pixels, at most."""
WRONG, QUIET = "#c1121f", "#555555"


def contact_sheet(key: str, survey: Survey) -> Figure:
    """A sheet of a camera; an episode with findings about it has a red name. Pictures that cannot be had are empty."""
    chosen = _chosen(key, survey)
    pictures = {
        episode: _pictures(survey.reader, episode, key, set(_frames(key, episode, survey))) for episode in chosen
    }
    rows, tall = max(1, len(chosen)), _tallness(pictures)
    figure = Figure(figsize=(1.7 + 3 * SIDE, 0.8 + rows * (SIDE * tall + 0.28)), layout="constrained")
    figure.suptitle(f"{survey.reader.root.name}: {key}", fontsize=12)
    grid = figure.subplots(rows, 3, squeeze=False)
    for row, episode in zip(grid, chosen):
        _row(row, key, episode, pictures[episode], survey, tall)
    for axes, title in zip(grid[0], HEAD):
        axes.annotate(title, (0.5, 1.0), (0, 16), "axes fraction", textcoords="offset points", ha="center", fontsize=10)
    return figure


def _chosen(key: str, survey: Survey) -> list[int]:
    count = len(survey.reader)
    wrong = [episode for episode in range(count) if _about(key, episode, survey)][: EPISODES // 2]
    right = [episode for episode in range(count) if episode not in wrong]
    spread = np.linspace(0, len(right) - 1, min(len(right), EPISODES - len(wrong))).round().astype(int)
    return sorted([*wrong, *(right[place] for place in spread)])


def _about(key: str, episode: int, survey: Survey) -> list[Finding]:
    """Findings about a camera in an episode; one about two cameras has the other in its words."""
    return [f for f in survey.findings if f.episode == episode and (f.column == key or key in f.found)]


def _frames(key: str, episode: int, survey: Survey) -> tuple[int, int, int]:
    length = survey.reader.episodes[episode].length
    found = [finding.frame for finding in _about(key, episode, survey) if finding.frame is not None]
    return 0, found[0] if found else length // 2, length - 1


def _pictures(reader: DatasetReader, episode: int, key: str, frames: Collection[int]) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    try:
        for frame, rgb in enumerate(reader.episode(episode).pictures(key)):
            if frame in frames:
                found[frame] = _shrunk(rgb)
    except DatasetError:
        pass  # it is among the findings, and an empty place on the sheet
    return found


def _row(
    axes: np.ndarray, key: str, episode: int, pictures: Mapping[int, np.ndarray], survey: Survey, tall: float
) -> None:
    findings = _about(key, episode, survey)
    for place, frame in zip(axes, _frames(key, episode, survey)):
        _picture(place, pictures.get(frame), tall)
        color = WRONG if any(finding.frame == frame for finding in findings) else QUIET
        place.set_title(f"frame {frame}, {frame / survey.reader.fps:.2f} s", fontsize=8, color=color, pad=3)
    codes = "".join(f"\n{code}" for code in dict.fromkeys(finding.code for finding in findings))
    label = {"fontsize": 10, "rotation": 0, "ha": "right", "va": "center", "labelpad": 8}
    axes[0].set_ylabel(f"episode {episode}{codes}", color=WRONG if findings else "black", **label)


def _picture(axes: Axes, picture: np.ndarray | None, tall: float) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    if picture is None:
        axes.text(0.5, 0.5, "no picture", ha="center", va="center", color=WRONG, transform=axes.transAxes)
        axes.set_box_aspect(tall)
    else:
        axes.imshow(picture, interpolation="nearest" if max(picture.shape) < 100 else "antialiased")


def _shrunk(rgb: np.ndarray) -> np.ndarray:
    factor = PIXELS / max(rgb.shape[:2])
    size = (round(rgb.shape[1] * factor), round(rgb.shape[0] * factor))
    return cv2.resize(rgb, size, interpolation=cv2.INTER_AREA) if factor < 1.0 else rgb


def _tallness(pictures: Mapping[int, Mapping[int, np.ndarray]]) -> float:
    """Height of a picture by its width."""
    for part in pictures.values():
        for picture in part.values():
            return picture.shape[0] / picture.shape[1]
    return 0.75

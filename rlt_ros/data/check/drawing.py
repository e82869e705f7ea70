"""Pictures of a survey for people: a contact sheet per camera, and the ranges of state and actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rlt_ros.data.check.contact_sheet import contact_sheet
from rlt_ros.data.check.ranges import ranges
from rlt_ros.data.check.survey import Survey
from rlt_ros.data.lerobot.features import cameras

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 110
"""Dots per inch."""


def draw(survey: Survey, folder: Path) -> Iterator[Path]:
    """Write `camera_<name>.png` and `ranges.png`; gives their paths. Raises ImportError naming the pip extra."""
    folder.mkdir(parents=True, exist_ok=True)
    for key in cameras(survey.reader.features):
        yield _saved(contact_sheet(key, survey), folder / f"camera_{key.rsplit('.', 1)[-1]}.png")
    if survey.tally.columns:
        yield _saved(ranges(survey), folder / "ranges.png")


def _saved(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=DOTS)
    return path

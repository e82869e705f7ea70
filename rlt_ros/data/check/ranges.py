"""Ranges of every dimension of state and action, episode by episode: what is different stands out."""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.data.check.findings import Finding
from rlt_ros.data.check.plots import Axes, Figure
from rlt_ros.data.check.survey import Survey

ACROSS = 6
"""Panels beside each other: translation and rotation of the same kind share a row."""
GRIPPER = ("gripper_width", "gripper")
PLAIN, WRONG, ALL, NORM = "#4f86b8", "#d1343f", "#d9d9d9", "#2a7f3f"
UNITS = {name: unit for names, unit in (
    (("gripper_width", "x", "y", "z"), "m"), (("rx", "ry", "rz"), "rad"), (("vx", "vy", "vz"), "m/s"),
    (("wx", "wy", "wz"), "rad/s"), (("fx", "fy", "fz"), "N"), (("tx", "ty", "tz"), "Nm"),
) for name in names}  # fmt: skip


def ranges(survey: Survey) -> Figure:
    """A panel a dimension; a bar an episode, red where a finding names it."""
    tally = survey.tally
    blocks = [(part, math.ceil(len(columns) / ACROSS)) for part, columns in tally.columns.items()]
    rows = sum(height for _, height in blocks)
    figure = Figure(figsize=(2.75 * ACROSS, 0.9 + 1.75 * rows + 0.35 * len(blocks)), layout="constrained")
    figure.suptitle(f"{survey.reader.root.name}: ranges by episode", fontsize=13)
    parts = np.atleast_1d(figure.subfigures(len(blocks), 1, height_ratios=[height + 0.2 for _, height in blocks]))
    for place, (part, height) in zip(parts, blocks):
        place.suptitle(_title(part, survey), fontsize=11, ha="left", x=0.01)
        panels = place.subplots(height, ACROSS, squeeze=False).ravel()
        order = _order(tally.names[part], len(tally.columns[part]))
        for dim, axes in zip(order, panels):
            _panel(axes, survey, part, dim)
        for axes in panels[len(order) :]:
            axes.set_axis_off()
    _legend(figure, survey)
    return figure


def _panel(axes: Axes, survey: Survey, part: str, dim: int) -> None:
    tally = survey.tally
    column, names = tally.columns[part][dim], tally.names[part]
    known = [episode for episode in tally.episodes if getattr(episode, part) is not None]
    numbers = [episode.index for episode in known]
    low, q01, middle, q99, high = np.stack([getattr(episode, part)[:, dim] for episode in known], axis=1)
    colors = [WRONG if _named(survey.findings, column, number) else PLAIN for number in numbers]
    whole = tally.quantiles(part)[:, dim]
    axes.axhspan(whole[1], whole[3], color=ALL, alpha=0.6, lw=0)
    width = max(0.8, min(6.0, 120.0 / len(known)))
    axes.vlines(numbers, low, high, colors=colors, lw=max(0.5, width / 5))
    axes.vlines(numbers, q01, q99, colors=colors, lw=width)
    axes.scatter(
        numbers,
        middle,
        s=min(14.0, 3 * width),
        color=["black" if color == PLAIN else WRONG for color in colors],
        lw=0,
        zorder=3,
    )
    if whole[0] == whole[-1]:
        axes.text(0.5, 0.7, "constant", ha="center", fontsize=9, color="#555555", transform=axes.transAxes)
    _norm_lines(axes, survey, part, dim)
    _dress(axes, column, names[dim] if names else "", part, numbers)


def _order(names: tuple[str, ...], count: int) -> list[int]:
    """Dimensions in the order of the panels: the gripper comes last, and so the others fill whole rows."""
    return sorted(range(count), key=lambda dim: bool(names) and names[dim] in GRIPPER)


def _dress(axes: Axes, column: str, name: str, part: str, numbers: list[int]) -> None:
    unit = f" ({UNITS[name]})" if part == "state" and name in UNITS else ""
    axes.set_title(f"{column.rsplit('/', 1)[-1]}{unit}", fontsize=9, pad=3)
    axes.tick_params(labelsize=7)
    axes.set_xlim(numbers[0] - 0.7, numbers[-1] + 0.7)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.spines[["top", "right"]].set_visible(False)


def _norm_lines(axes: Axes, survey: Survey, part: str, dim: int) -> None:
    names = survey.tally.names[part]
    if survey.checkpoint is not None and part == "state" and names:
        for bound in survey.checkpoint.bounds(names[dim]) or ():
            axes.axhline(bound, color=NORM, ls="--", lw=1.0)


def _named(findings: list[Finding], column: str, episode: int) -> bool:
    return any(finding.column == column and finding.episode in (None, episode) for finding in findings)


def _title(part: str, survey: Survey) -> str:
    if survey.tally.names[part]:
        return {"state": "state, in SI units", "action": "action, shares of the action scale"}[part]
    return f"{part}, as the dataset has it"


def _legend(figure: Figure, survey: Survey) -> None:
    words = "bar: q01 to q99 of an episode, line: its ends, dot: median; band: q01 to q99 of all; red: a finding"
    if survey.checkpoint is not None:
        words += "; dashed: the checkpoint's q01 to q99, widened"
    figure.supxlabel(f"episode\n{words}", fontsize=9)

"""A bag as pictures: who drove when, what came when, how late it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rlt_ros.data.bags.survey import PhaseFound, Survey
from rlt_ros.data.check.plots import Axes, Figure

DOTS = 120
LABELS = {"SUCCESS": "#2b8a4b", "FAILURE": "#c1121f", "DISCARD": "#999999", "ABORT": "#b8860b"}
DRIVERS = {"VLA": "#1f6fb4", "ACTOR": "#d1571b", "HUMAN": "#2b8a4b", "HOLD": "#999999", "RESET": "#cccccc"}


def draw(found: Survey, folder: Path) -> Iterator[Path]:
    """Write `phases.png`, `topics.png` and `latency.png`, each where there is something for it; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"phases": _phases, "topics": _topics, "latency": _latencies}
    for name, make in pictures.items():
        figure = make(found)
        if figure is not None:
            figure.savefig(folder / f"{name}.png", dpi=DOTS)
            yield folder / f"{name}.png"


def _phases(found: Survey) -> Figure | None:
    if not found.phases:
        return None
    figure = Figure(figsize=(8.0, 1.6 + 0.2 * len(found.phases)), layout="constrained")
    axes = figure.subplots()
    for row, phase in enumerate(found.phases):
        _phase(axes, row, phase)
    axes.set_yticks(range(len(found.phases)), [f"phase {phase.number}" for phase in found.phases], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.25 * max(phase.steps for phase in found.phases))
    axes.set_xlabel("control steps; who drove, and the label at the end")
    axes.legend(fontsize=7, frameon=False, loc="upper center", ncols=len(DRIVERS), bbox_to_anchor=(0.5, 1.12))
    return figure


def _phase(axes: Axes, row: int, phase: PhaseFound) -> None:
    left = 0
    for driver, colour in DRIVERS.items():
        steps = phase.drivers.get(driver, 0)
        axes.barh(row, steps, left=left, color=colour, height=0.7, label=driver if row == 0 else None)
        left += steps
    label = "no label" if phase.label is None else phase.label.name
    words = f" {label}{' (cut)' if phase.cut else ''}"
    axes.text(left, row, words, va="center", fontsize=7, color=LABELS.get(label, "black"))


def _topics(found: Survey) -> Figure | None:
    if not found.topics:
        return None
    topics = sorted(found.topics, reverse=True)
    figure = Figure(figsize=(9.0, 1.2 + 0.22 * len(topics)), layout="constrained")
    axes = figure.subplots()
    for row, topic in enumerate(topics):
        timing = found.topics[topic]
        times = (np.array(timing.receipts) - found.start) / 1e9
        axes.plot(times, np.full(len(times), row), "|", color="#1f6fb4", markersize=6, alpha=0.5)
        for at, length in timing.gaps():
            begin = (at - found.start) / 1e9
            axes.plot([begin, begin + length], [row, row], color="#c1121f", linewidth=3)
    axes.set_yticks(range(len(topics)), topics, fontsize=7)
    axes.set_xlabel("s since the first message; red: nothing came for three intervals")
    return figure


def _latencies(found: Survey) -> Figure | None:
    answers = {f"{topic} after its observation": seconds for topic, seconds in found.answers.items()}
    ages = {f"{topic}, age at receipt": timing.ages() for topic, timing in found.topics.items()}
    shown = {name: 1e3 * values[values > 0] for name, values in (answers | ages).items() if (values > 0).any()}
    if not shown:
        return None
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.subplots()
    edges = np.logspace(-2, 4, 121)
    for name, values in shown.items():
        counts, _ = np.histogram(values, edges)
        axes.step(edges[:-1], counts / len(values), where="post", label=name, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_xlabel("ms")
    axes.set_ylabel("share of the messages")
    axes.legend(fontsize=6, frameon=False)
    return figure

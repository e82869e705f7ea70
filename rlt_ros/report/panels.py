"""The plots of a report: each draws one run into axes, in the run's colour; the line's style says what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rlt_ros.data.check.plots import Axes, Figure
from rlt_ros.loop.latency import EDGES
from rlt_ros.loop.session import PRACTICE
from rlt_ros.report.bands import Band, rolling_mean, rolling_rate, wilson
from rlt_ros.report.episodes import Episode, practised
from rlt_ros.report.facts import moments, score_of
from rlt_ros.report.run import Run
from rlt_ros.rl.alarms import CHECKS

COLOURS = ("#1f6fb4", "#d1571b", "#2b8a4b", "#8d4bb0", "#b8860b", "#c2255c", "#3b8e99", "#6b6b6b")
STYLES = ("-", "--", ":", "-.")
MINUTES = "robot time of practice [min]"
SIZE = (5.4, 3.1)
"""Inches."""
GREY = "#777777"


@dataclass(frozen=True)
class Panel:
    """name: of its file. title: what is seen. draw: puts a run into axes, False if the run has nothing for it.

    help: how to read it.
    """

    name: str
    title: str
    draw: Callable[[Axes, Run, str], bool]
    help: str
    x: str = MINUTES


def figure(panel: Panel, runs: Sequence[Run]) -> tuple[Figure | None, list[str]]:
    """A panel with all runs, None if none has anything for it; names of the runs that do not."""
    result = Figure(figsize=SIZE, layout="constrained")
    axes = result.subplots()
    drawn = {run.name: panel.draw(axes, run, colour_of(place)) for place, run in enumerate(runs)}
    absent = [name for name, there in drawn.items() if not there]
    if len(absent) == len(runs):
        return None, absent
    _dress(axes, panel, several=len(runs) > 1)
    return result, absent


def colour_of(place: int) -> str:
    """Colour of the run at a place of the list."""
    return COLOURS[place % len(COLOURS)]


def _dress(axes: Axes, panel: Panel, several: bool) -> None:
    axes.set_xlabel(panel.x, fontsize=8)
    axes.tick_params(which="both", labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        unique = dict(zip(labels, handles))
        legend = axes.legend(unique.values(), unique, fontsize=7, frameon=False, loc="best")
        for handle in legend.legend_handles if several else ():
            handle.set_color(GREY)  # it tells the styles apart; colours are those of the runs


def _band(axes: Axes, minutes: np.ndarray, band: Band, colour: str, label: str) -> None:
    axes.fill_between(minutes, band.low, band.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(minutes, band.middle, color=colour, linewidth=1.8, label=label)


def _lines(axes: Axes, run: Run, colour: str, **columns: str) -> bool:
    """Columns of the learner's curves by label; False if none has a value."""
    for style, (label, name) in zip(STYLES, columns.items()):
        if run.curves.known(name):
            plain = label.replace("_", " ")
            axes.plot(run.curves.minutes, run.curves[name], style, color=colour, linewidth=1.3, label=plain)
    return run.curves.known(*columns.values())


def success(axes: Axes, run: Run, colour: str) -> bool:
    """Rolling success of practice, evaluations as points with their intervals, the base VLA as a line."""
    episodes = practised(run.episodes)
    minutes = np.array([e.minutes for e in episodes])
    if episodes:
        _band(axes, minutes, rolling_rate(np.array([e.success for e in episodes])), colour, "practice, last 20")
    for when, score in moments(run):
        low, high = wilson(score.successes, score.episodes)
        rate = score.successes / score.episodes
        axes.errorbar(when, rate, [[rate - low], [high - rate]], fmt="none", color=colour, capsize=3)
        axes.plot(when, rate, "o", color=colour, label="evaluation")
    base = score_of(run, "base")
    if base is not None and base.episodes:
        axes.axhline(base.successes / base.episodes, color=colour, linestyle=":", linewidth=1.2, label="base VLA")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("success rate", fontsize=8)
    return bool(episodes) or bool(moments(run))


def length(axes: Axes, run: Run, colour: str) -> bool:
    """Steps of the critical phase, failures as the time limit where it is known."""
    episodes = practised(run.episodes)
    if not episodes:
        return False
    steps = np.array([e.steps if e.success or run.time_limit is None else run.time_limit for e in episodes], float)
    minutes = np.array([e.minutes for e in episodes])
    won = np.array([e.success for e in episodes])
    axes.plot(minutes[won], steps[won], ".", color=colour, alpha=0.35, markersize=4, label="a success")
    _band(axes, minutes, rolling_mean(steps), colour, "mean of the last 20")
    axes.set_ylabel("control steps", fontsize=8)
    axes.set_ylim(bottom=0)
    return True


def q_and_return(axes: Axes, run: Run, colour: str) -> bool:
    """Q of the executed chunks and of the actor's own, against the return that was seen."""
    curves = run.curves
    if not curves.known("q_mean"):
        return False
    low, high = curves["q_min"], curves["q_max"]
    axes.fill_between(curves.minutes, low, high, color=colour, alpha=0.1, linewidth=0)
    _lines(axes, run, colour, Q="q_mean")
    seen = curves["q_mean"] - curves["q_return_error"]
    axes.plot(curves.minutes, seen, "--", color=colour, linewidth=1.3, label="Monte-Carlo return")
    axes.plot(curves.minutes, curves["q_pi"], ":", color=colour, linewidth=1.3, label="Q of the actor's chunks")
    axes.set_ylabel("discounted return", fontsize=8)
    return True


def reference_error(axes: Axes, run: Run, colour: str) -> bool:
    """Whether the actor copies its input."""
    axes.set_ylabel("mean squared error", fontsize=8)
    axes.set_yscale("log")
    names = {"reference_as_input": "reference_error", "input_dropped": "reference_error_dropped"}
    return _lines(axes, run, colour, **names)


def interventions(axes: Axes, run: Run, colour: str) -> bool:
    """Share of the steps that a person drove, and the actor."""
    episodes = [e for e in run.episodes if e.stage == PRACTICE and e.drivers]
    if not episodes:
        return False
    minutes = np.array([e.minutes for e in episodes])
    for driver, style in (("HUMAN", "-"), ("ACTOR", "--"), ("VLA", ":")):
        share = np.array([_share(e, driver) for e in episodes])
        rolled = [share[max(0, end - 20) : end].mean() for end in range(1, len(share) + 1)]
        label = {"HUMAN": "person", "ACTOR": "learned actor", "VLA": "VLA"}[driver]
        axes.plot(minutes, rolled, style, color=colour, linewidth=1.4, label=label)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("share of critical steps, last 20", fontsize=8)
    return True


def _share(episode: Episode, driver: str) -> float:
    return episode.drivers.get(driver, 0) / sum(episode.drivers.values())


def updates(axes: Axes, run: Run, colour: str) -> bool:
    """Critic and actor updates made, and those that are owed."""
    axes.set_ylabel("updates", fontsize=8)
    return _lines(axes, run, colour, critic="critic_updates", owed="update_debt", actor="actor_updates")


def weight_age(axes: Axes, run: Run, colour: str) -> bool:
    """Seconds since the learner's newest version."""
    axes.set_ylabel("age [s]", fontsize=8)
    return _lines(axes, run, colour, newest_weights="weights_age", newest_row="seconds_since_row")


def losses(axes: Axes, run: Run, colour: str) -> bool:
    """Loss of the critics, and of the actor towards its target."""
    axes.set_yscale("log")
    axes.set_ylabel("loss", fontsize=8)
    return _lines(axes, run, colour, critic="critic_loss", actor_to_reference="bc_loss")


def residual(axes: Axes, run: Run, colour: str) -> bool:
    """How far the actor departs from the reference, a step."""
    axes.set_ylabel("distance to the reference [mm]", fontsize=8)
    return _lines(axes, run, colour, mean="residual_mm", largest="residual_mm_max")


def alarms(axes: Axes, run: Run, colour: str) -> bool:
    """When which alarm was raised."""
    if not len(run.curves.minutes):
        return False
    for height, name in enumerate(CHECKS):
        raised = run.curves[name] > 0
        axes.plot(run.curves.minutes[raised], np.full(raised.sum(), height), "s", color=colour, markersize=5)
    axes.set_yticks(range(len(CHECKS)), [name.removeprefix("alarm_") for name in CHECKS])
    axes.set_ylim(-0.6, len(CHECKS) - 0.4)
    axes.set_xlim(0.0, max(float(np.nanmax(run.curves.minutes)), 1e-3, axes.get_xlim()[1] if axes.lines else 0.0))
    return True


def latencies(axes: Axes, run: Run, colour: str) -> bool:
    """Histograms, each by its own total."""
    centres = 1e3 * np.sqrt(EDGES[:-1] * EDGES[1:])
    for style, (name, histogram) in zip(STYLES, run.latencies.items()):
        counts = histogram.counts[1:-1]
        if histogram.counts.any():
            share = counts / histogram.counts.sum()
            axes.step(centres, share, where="mid", color=colour, linestyle=style, label=name.replace("_", " "))
    axes.set_xscale("log")
    axes.set_ylabel("share", fontsize=8)
    seen = sum(histogram.counts[1:-1] for histogram in run.latencies.values())
    if not np.any(seen):
        return False
    first, last = np.flatnonzero(seen)[[0, -1]]
    low, high = axes.get_xlim() if len(axes.lines) > len(run.latencies) else (np.inf, 0.0)
    axes.set_xlim(min(low, 0.8 * centres[first]), max(high, 1.25 * centres[last]))
    return True


PANELS = (
    Panel("success", "Success", success, "Practice with its exploration noise; band: 95 % Wilson interval."),
    Panel("length", "Length of the critical phase", length, "Band: 95 %, resampled. Failures count as the time limit."),
    Panel("q", "Q against the return", q_and_return, "Area: lowest to highest row. Above the return is usual."),
    Panel("reference", "Distance to the reference", reference_error, "The two together at zero: it copies its input."),
    Panel("interventions", "Who drives", interventions, "In the critical phases of practice."),
    Panel("residual", "What the actor adds", residual, "Per control step, translation."),
    Panel("updates", "Updates", updates, "Owed: earned by rows and not yet made."),
    Panel("weights", "Age of the weights", weight_age, "On the learner's side."),
    Panel("losses", "Losses", losses, "Of the last update before each look."),
    Panel("alarms", "Alarms", alarms, "docs/diagnostics.md says what each means."),
    Panel("latency", "Latencies", latencies, "As teleop hears them, over the whole run.", "ms"),
)

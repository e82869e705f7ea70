"""What a person should know of a bag: for the terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rlt_ros.data.bags.survey import PhaseFound, Survey
from rlt_ros.data.bags.timing import Timing

GAPS = 5
"""Gaps of a topic that are named one by one."""


def to_dict(found: Survey) -> dict[str, Any]:
    """JSON-ready; times are seconds since the first receipt, ages and answers milliseconds."""
    return {
        "bag": str(found.path),
        "seconds": found.seconds,
        "damage": found.damage,
        "differences": found.differences,
        "topics": {topic: _topic(found, topic, timing) for topic, timing in sorted(found.topics.items())},
        "answers_ms": {topic: _quantiles(1e3 * seconds) for topic, seconds in sorted(found.answers.items())},
        "phases": [_phase(phase) for phase in found.phases],
        "labels": dict(Counter(_label(phase) for phase in found.phases)),
        "runs": len({phase.run for phase in found.phases}),
    }


def _topic(found: Survey, topic: str, timing: Timing) -> dict[str, Any]:
    gaps = [{"after_s": (at - found.start) / 1e9, "seconds": length} for at, length in timing.gaps()]
    return {
        "type": timing.kind,
        "messages": len(timing),
        "bytes": timing.size,
        "rate_hz": timing.rate,
        "lost": found.lost.get(topic),
        "gaps": gaps,
        "age_ms": _quantiles(1e3 * timing.ages()),
        "stamps_of_another_clock": timing.other_clock,
    }


def _quantiles(values: np.ndarray) -> dict[str, float] | None:
    if not len(values):
        return None
    return {name: float(np.percentile(values, q)) for name, q in (("p50", 50), ("p99", 99), ("max", 100))}


def _phase(phase: PhaseFound) -> dict[str, Any]:
    return {
        "run": phase.run,
        "phase": phase.number,
        "label": _label(phase),
        "steps": phase.steps,
        "seconds": (phase.end - phase.start) / 1e9,
        "drivers": dict(phase.drivers),
        "interventions": phase.helps,
        "holds": dict(phase.holds),
        "lost_steps": phase.lost,
        "cut": phase.cut,
    }


def _label(phase: PhaseFound) -> str:
    return "none" if phase.label is None else phase.label.name


def text(found: Survey) -> str:
    """Several lines for the terminal."""
    figures = to_dict(found)
    parts = (_head(figures), _topics(figures), _answers(figures), _phases(figures))
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _head(figures: dict[str, Any]) -> Iterator[str]:
    yield f"{figures['bag']}: {figures['seconds']:.1f} s, {len(figures['topics'])} topics"
    if figures["damage"]:
        yield f"DAMAGED: {figures['damage']}"
    for line in figures["differences"]:
        yield f"OTHER VERSION: {line}"


def _topics(figures: dict[str, Any]) -> Iterator[str]:
    width = max((len(topic) for topic in figures["topics"]), default=0)
    if figures["topics"]:
        head = f"{'messages':>8}  {'MB':>7}  {'Hz':>7}  {'lost':>5}  {'gaps':>4}  age ms (p50, p99, max)"
        yield f"{'topic':<{width}}  {head}"
    for topic, values in figures["topics"].items():
        lost = "-" if values["lost"] is None else values["lost"]
        age = "stamps are of another clock" if values["stamps_of_another_clock"] else _ages(values["age_ms"])
        yield (
            f"{topic:<{width}}  {values['messages']:>8}  {values['bytes'] / 1e6:>7.2f}  {values['rate_hz']:>7.1f}  "
            f"{lost:>5}  {len(values['gaps']):>4}  {age}"
        )
    for topic, values in figures["topics"].items():
        yield from _gaps(topic, values["gaps"])


def _gaps(topic: str, gaps: list[dict[str, float]]) -> Iterator[str]:
    for gap in sorted(gaps, key=lambda gap: -gap["seconds"])[:GAPS]:
        yield f"GAP of {gap['seconds']:.2f} s in {topic} after {gap['after_s']:.1f} s"
    if len(gaps) > GAPS:
        yield f"  and {len(gaps) - GAPS} shorter ones in {topic}"


def _ages(ages: dict[str, float] | None) -> str:
    return "-" if ages is None else f"{ages['p50']:.1f}, {ages['p99']:.1f}, {ages['max']:.1f}"


def _answers(figures: dict[str, Any]) -> Iterator[str]:
    for topic, ages in figures["answers_ms"].items():
        yield f"{topic} comes {_ages(ages)} ms (p50, p99, max) after its observation"


def _phases(figures: dict[str, Any]) -> Iterator[str]:
    phases = figures["phases"]
    if not phases:
        yield "no critical phase"
        return
    labels = ", ".join(f"{count} {label}" for label, count in sorted(figures["labels"].items()))
    runs = f" of {figures['runs']} runs" if figures["runs"] > 1 else ""
    yield f"{len(phases)} critical phases{runs}: {labels}"
    yield "phase  label    steps  seconds  person  helps  who drove"
    for phase in phases:
        human = phase["drivers"].get("HUMAN", 0)
        drivers = ", ".join(f"{name} {steps}" for name, steps in sorted(phase["drivers"].items()))
        yield (
            f"{phase['phase']:>5}  {phase['label']:<7}  {phase['steps']:>5}  {phase['seconds']:>7.2f}  {human:>6}  "
            f"{phase['interventions']:>5}  {drivers}"
        )
        yield from _remarks(phase)


def _remarks(phase: dict[str, Any]) -> Iterator[str]:
    if phase["cut"]:
        yield f"       {phase['cut']}"
    if phase["lost_steps"]:
        yield f"       {phase['lost_steps']} of its steps were not recorded"
    if phase["holds"]:
        yield f"       held: {', '.join(f'{reason} {count}' for reason, count in phase['holds'].items())}"

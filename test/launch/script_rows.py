"""What the rows of a scripted session must be, worked out without the code that makes them.

A chunk that was decided upon before the phase began is still the approach's. The T steps from there to the label give a
row for every second step but the last one: the ten steps from there on or as many as are left, unless one of them is a
hold. The reward lies on the very last step of a success; success and failure end the return, an abort cuts it. Steps
held at the end of an abort are no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlt_ros import msg
from rlt_ros.types import Transition

CHUNK, STRIDE = 10, 2
STEP, EVENT = msg.ExecutedStep, msg.EpisodeEvent
LABELLED = (EVENT.SUCCESS, EVENT.FAILURE, EVENT.ABORT)


def by_id(messages: Sequence[Any]) -> dict[int, Any]:
    """Newest of each observation, in order: steps are told again where an answer is missing."""
    found = {m.observation_id: m for m in messages}
    return {i: found[i] for i in sorted(found)}


def expected_rows(
    words: Mapping[int, msg.PolicyMode], steps: Mapping[int, STEP], events: Sequence[EVENT]
) -> list[dict[str, Any]]:
    """Rows in the order in which the learner must have them."""
    rows = []
    for event in events:
        if event.label in LABELLED:
            rows += _rows(event, [steps[i] for i in practised(event.phase_id, words, steps)])
    return rows


def practised(phase_id: int, words: Mapping[int, msg.PolicyMode], steps: Mapping[int, STEP]) -> list[int]:
    """Observations of a phase whose steps are its own."""
    phase = [i for i, word in words.items() if word.phase_id == phase_id]
    older = [i for i in phase if steps[i].driver in (STEP.VLA, STEP.ACTOR) and steps[i].chunk_id < phase[0]]
    return [i for i in phase if i not in older]


def _rows(event: EVENT, steps: list[STEP]) -> list[dict[str, Any]]:
    if event.label == EVENT.ABORT:
        while steps and steps[-1].driver == STEP.HOLD:
            steps = steps[:-1]
    rows = [
        _row(event, steps, start)
        for start in range(0, len(steps) - 1, STRIDE)
        if all(step.driver != STEP.HOLD for step in steps[start : start + CHUNK])
    ]
    for row in rows[-1:]:
        row["last_of_phase"] = True
    return rows


def _row(event: EVENT, steps: list[STEP], start: int) -> dict[str, Any]:
    part = steps[start : start + CHUNK]
    last, missing = start + len(part) == len(steps), CHUNK - len(part)
    ended = last and event.label in (EVENT.SUCCESS, EVENT.FAILURE)
    return {
        "episode": event.episode,
        "phase_id": event.phase_id,
        "step": part[0].step,
        "features_id": part[0].observation_id,
        "next_features_id": 0 if ended else part[-1].observation_id + 1,
        "actions": [*(list(step.action) for step in part), *[[0.0] * 7] * missing],
        "drivers": [*(step.driver for step in part), *[0] * missing],
        "rewards": [*[0.0] * (len(part) - 1), float(last and event.label == EVENT.SUCCESS), *[0.0] * missing],
        "valid_horizon": len(part),
        "terminated": ended,
        "truncated": last and event.label == EVENT.ABORT,
        "label": event.label,
        "steps_to_end": len(steps) - start,
        "last_of_phase": False,
    }


def as_told(row: Transition) -> dict[str, Any]:
    """The same of a row that somebody has kept."""
    names = ("episode", "phase_id", "step", "features_id", "next_features_id", "valid_horizon", "terminated")
    names += ("truncated", "steps_to_end", "last_of_phase")
    plain = {name: getattr(row, name) for name in names}
    arrays = {name: np.asarray(getattr(row, name)).tolist() for name in ("actions", "drivers", "rewards")}
    return plain | arrays | {"label": int(row.label)}

"""Phases out of their rows: success, length, who helped."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.learner import Learner
from rlt_ros.rl.phases import PhaseLog
from rlt_ros.types import Driver, Label, Transition


def phase(label: Label, steps: int, human: range = range(0), number: int = 1, stream: str = "s") -> list[Transition]:
    """Overlapping windows of 4 steps, one at every second step, as the window assembler makes them."""
    like, made = rows(1)[0], []
    starts = range(0, steps - 1, 2)
    for start in starts:
        valid = min(4, steps - start)
        drivers = [Driver.HUMAN if start + i in human else Driver.ACTOR for i in range(4)]
        made.append(
            replace(
                like, label=label, step=start, valid_horizon=valid, steps_to_end=steps - start, stream=stream,
                drivers=np.array(drivers, np.uint8), last_of_phase=start == starts[-1], phase_id=number,
            )
        )  # fmt: skip
    return made


def test_length_and_human_steps_are_counted_once_although_windows_overlap():
    log = PhaseLog()
    for row in phase(Label.SUCCESS, steps=11, human=range(3, 8)):
        log.add(row, 7)
    (outcome,) = log.outcomes
    assert (outcome.number, outcome.steps, outcome.human_steps) == (7, 11, 5)
    assert outcome.success and outcome.labelled and not outcome.unaided


def test_a_step_beyond_the_horizon_was_not_driven():
    log = PhaseLog()
    for row in phase(Label.FAILURE, steps=5, human=range(5, 8)):
        log.add(row, 1)
    assert log.outcomes[0].human_steps == 0


def test_phases_of_two_robots_may_come_mixed():
    log = PhaseLog()
    a, b = phase(Label.SUCCESS, 8, stream="a"), phase(Label.FAILURE, 12, range(2), stream="b")
    for row in [b[0], a[0], *b[1:3], *a[1:], *b[3:]]:
        log.add(row, 1)
    assert [(o.success, o.steps, o.human_steps) for o in log.outcomes] == [(True, 8, 0), (False, 12, 2)]


def test_a_phase_whose_end_never_came_does_not_leak_into_the_next():
    log = PhaseLog()
    for row in phase(Label.SUCCESS, 12, range(12))[:3] + phase(Label.SUCCESS, 6, number=2):
        log.add(row, 1)
    assert [(o.steps, o.human_steps) for o in log.outcomes] == [(6, 0)]


def test_running_rates_are_of_the_last_twenty_labelled_phases():
    log = PhaseLog()
    assert all(math.isnan(value) for value in log.recent().values())
    labels = [Label.SUCCESS] * 5 + [Label.FAILURE] * 10 + [Label.ABORT] * 3 + [Label.SUCCESS] * 10
    for number, label in enumerate(labels, start=1):
        for row in phase(label, steps=10 if label == Label.SUCCESS else 20, human=range(2), number=number):
            log.add(row, number)
    assert log.recent() == {"recent_success": 0.5, "recent_steps": 15.0, "intervention_rate": pytest.approx(40 / 300)}


def test_the_learner_numbers_phases_as_it_counts_them():
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    learner.add(rows(24))
    assert [o.number for o in learner.outcomes] == [1, 2, 3]
    stats = learner.stats()
    assert (stats.phases, stats.successes, stats.failures) == (3, 2, 1)
    assert stats.recent_success == pytest.approx(2 / 3) and stats.recent_steps == 30.0

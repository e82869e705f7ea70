"""TensorBoard under our names and others', each curve over its own count; and a full disk stops nothing."""

from __future__ import annotations

import json
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import pytest
from synthetic import CONTRACT, DIMS, rows, small_config

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rlt_ros.rl.learner import Learner
from rlt_ros.rl.metrics import PHASE_ALIASES, ROW_ALIASES, UPDATE_ALIASES, Metrics
from rlt_ros.rl.phases import PhaseOutcome
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.types import Label


def taught() -> Learner:
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    learner.add(rows(24))
    learner.train(100)
    return learner


def curves(directory: Path) -> EventAccumulator:
    found = EventAccumulator(str(directory))
    found.Reload()
    return found


def points(found: EventAccumulator, name: str) -> list[tuple[int, float]]:
    return [(event.step, pytest.approx(event.value, rel=1e-6)) for event in found.Scalars(name)]


def test_aliases_name_fields_that_exist():
    names = {field.name for field in fields(LearnerStats)}
    assert set(UPDATE_ALIASES.values()) | set(ROW_ALIASES.values()) <= names
    assert all(hasattr(PhaseOutcome(1, Label.SUCCESS, 3, 0), name) for name in PHASE_ALIASES.values())


def test_each_curve_has_its_own_axis(tmp_path):
    learner, metrics = taught(), Metrics(tmp_path)
    stats = learner.stats()
    metrics.write(stats, learner.outcomes)
    metrics.close()
    found = curves(tmp_path)
    assert points(found, "learner/q_mean") == points(found, "critic/q_data") == [(100, stats.q_mean)]
    assert points(found, "actor/q_value_2") == [(100, stats.q_members[2])]
    assert points(found, "rlt/update_step") == [(24, 100.0)]
    assert points(found, "replay/transition_count") == [(24, 24.0)]
    assert points(found, "env/success_once") == [(1, 1.0), (2, 0.0), (3, 1.0)]
    assert points(found, "env/episode_len") == [(n, 30.0) for n in (1, 2, 3)]


def test_what_is_not_known_yet_is_not_drawn(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.write(Learner(small_config(), DIMS, CONTRACT, 5.0).stats())
    metrics.close()
    assert "critic/q_data" not in curves(tmp_path).Tags()["scalars"]


def test_a_phase_is_drawn_once_and_an_aborted_one_not_at_all(tmp_path):
    stats, metrics = taught().stats(), Metrics(tmp_path, phases=1)
    outcomes = [PhaseOutcome(n, label, 10 * n, 0) for n, label in enumerate((1, 2, 4, 1), start=1)]
    metrics.write(stats, outcomes[:3])
    metrics.write(replace(stats, critic_updates=101), outcomes)
    metrics.close()
    assert points(curves(tmp_path), "env/episode_len") == [(2, 20.0), (4, 40.0)]


def test_an_alarm_is_text_when_it_comes_and_when_it_goes(tmp_path):
    stats, metrics = taught().stats(), Metrics(tmp_path)
    for step, alarms in enumerate(({}, {"alarm_q": "too high"}, {"alarm_q": "still too high"}, {})):
        metrics.write(replace(stats, critic_updates=step), alarms=alarms)
    metrics.close()
    events = curves(tmp_path).Tensors("alarms/alarm_q/text_summary")
    assert [(e.step, e.tensor_proto.string_val[0].decode()) for e in events] == [(1, "too high"), (3, "cleared")]


def test_nothing_is_written_while_nothing_happens(tmp_path):
    stats, lines = taught().stats(), tmp_path / "metrics.jsonl"
    metrics = Metrics(tmp_path, lines)
    for each in (stats, stats, replace(stats, rows_received=25)):
        metrics.write(each)
    metrics.close()
    assert len(lines.read_text().splitlines()) == 2


def test_every_row_is_a_line_of_json_with_null_for_the_unknown(tmp_path):
    stats, lines = taught().stats(), tmp_path / "metrics.jsonl"
    metrics = Metrics(tmp_path, lines)
    metrics.write(replace(stats, q_pull=float("inf"), seconds_since_row=float("nan")))
    row = json.loads(lines.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert row["q_mean"] == stats.q_mean and row["critic_updates"] == 100 and row["q_members"] == list(stats.q_members)
    assert row["q_pull"] is None and row["seconds_since_row"] is None
    metrics.close()


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow any more: the kernel answers writes with an error, as a full disk does.

    Within a test only: between tests pytest writes its own lines, perhaps into a file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("with_lines", [True, False])
def test_a_full_disk_is_told_once_and_stops_nothing(tmp_path, with_lines):
    learner, told = taught(), []
    metrics = Metrics(tmp_path / "tensorboard", tmp_path / "metrics.jsonl" if with_lines else None, told.append)
    with full_disk():
        for _ in range(20):
            assert learner.train(1) == 1
            metrics.write(learner.stats())
        metrics.close()
    assert len(told) == 1 and re.search("not written any more, learning goes on: .*File too large", told[0])

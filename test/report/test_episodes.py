"""Episodes out of a log: what counts, and when it was in robot time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlt_ros.report.curves import curves
from rlt_ros.report.episodes import practised, read_episodes

RATE = 20.0


def line(stage: str = "practice", label: str = "SUCCESS", robot_steps: int = 1200, **rest: Any) -> dict[str, Any]:
    return {"stage": stage, "label": label, "steps": 40, "robot_steps": robot_steps, "counted": True, **rest}


def read(tmp_path: Path, *lines: dict[str, Any]) -> list:
    (tmp_path / "episodes.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    return read_episodes(tmp_path, RATE, pytest.fail)


def test_minutes_are_those_of_practice(tmp_path: Path) -> None:
    found = read(tmp_path, line(), line("base"), line(), line("final"), line(label="DISCARD"))
    assert [e.minutes for e in found] == [1.0, 1.0, 2.0, 2.0, 3.0], "a discarded episode has taken its time"


def test_only_labelled_episodes_of_practice_that_count_are_practised(tmp_path: Path) -> None:
    lines = [line(), line(label="DISCARD", counted=False), line("base"), line(label="ABORT", counted=False)]
    found = practised(read(tmp_path, *lines, line(label="FAILURE")))
    assert [e.label for e in found] == ["SUCCESS", "FAILURE"]


def test_share_of_the_person_is_of_the_critical_phase(tmp_path: Path) -> None:
    one, none = read(tmp_path, line(drivers={"VLA": 30, "HUMAN": 10}), line())
    assert one.human_share == 0.25 and np.isnan(none.human_share)


def test_curves_lie_where_the_robot_was_then(tmp_path: Path) -> None:
    episodes = read(tmp_path, line(time=100.0), line(time=160.0), line("final", time=500.0))
    found = curves([{"time": t, "q_mean": 0.0} for t in (50.0, 100.0, 130.0, 160.0, 400.0)], episodes)
    np.testing.assert_allclose(found.minutes, [0.0, 1.0, 1.5, 2.0, 2.0])


def test_without_wall_time_the_count_of_phases_tells(tmp_path: Path) -> None:
    episodes = read(tmp_path, line(), line(label="DISCARD"), line(label="ABORT"), line(label="FAILURE"))
    found = curves([{"phases": n} for n in (0, 1, 2, 3, 9)], episodes)
    np.testing.assert_allclose(found.minutes, [0.0, 1.0, 3.0, 4.0, 4.0])

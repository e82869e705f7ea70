"""Rules in a person's place: what they call, when, and what they leave to the person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rlt_ros.loop.requests import Request
from rlt_ros.operator.referee import Call, Referee
from rlt_ros.operator.rules import Between, Box, Near, Rule, Rules, Sample, Score
from rlt_ros.robot.pose import Pose
from rlt_ros.strict import ConfigError, build, load
from rlt_ros.types import Mode, Phase

PRESET = Path(__file__).parents[2] / "config" / "operator" / "referee.yaml"
STEP = 50_000_000
BASE = Sample(
    stamp=0,
    episode=1,
    phase=Phase.CRITICAL,
    phase_id=1,
    mode=Mode.RL,
    pose=Pose.of([0.5, 0.0, 0.1], [1.0, 0.0, 0.0, 0.0]),
    turn=np.zeros(3),
    gripper=0.02,
    force=1.0,
    torque=0.1,
    speed=0.01,
)
LOW = Box((0.4, -0.1, 0.0), (0.6, 0.1, 0.08))


def at(z: float, **changes: object) -> Sample:
    return replace(BASE, pose=Pose.of([0.5, 0.0, z], [1.0, 0.0, 0.0, 0.0]), **changes)


def calls(referee: Referee, *samples: Sample) -> list[Call | None]:
    """Samples one control step after the other."""
    return [referee.look(replace(sample, stamp=i * STEP)) for i, sample in enumerate(samples)]


def test_a_rule_calls_once_when_it_has_held_for_long_enough() -> None:
    referee = Referee(Rules(success=(Rule("in", hold=0.1, box=LOW),)))
    told = calls(referee, at(0.1), at(0.05), at(0.05), at(0.05), at(0.05))
    assert told == [None, None, None, Call(Request.SUCCESS, "in"), None]


def test_a_hold_that_is_broken_begins_anew() -> None:
    referee = Referee(Rules(success=(Rule("in", hold=0.1, box=LOW),)))
    assert calls(referee, at(0.05), at(0.05), at(0.1), at(0.05), at(0.05)) == [None] * 5
    assert referee.soon == "success: in"
    assert referee.look(at(0.05, stamp=5 * STEP)) == Call(Request.SUCCESS, "in")


def test_what_was_refused_is_called_again_when_it_comes_again() -> None:
    referee = Referee(Rules(success=(Rule("in", box=LOW),)))
    told = calls(referee, at(0.05), at(0.05), at(0.1), at(0.05))
    assert told == [Call(Request.SUCCESS, "in"), None, None, Call(Request.SUCCESS, "in")]


def test_begin_counts_in_the_approach_and_labels_in_the_critical_phase() -> None:
    rules = Rules(begin=(Rule("near", near=Near((0.5, 0.0, 0.05), 0.03, 0.04)),), failure=(Rule("late", after=1.0),))
    approach = {"phase": Phase.APPROACH, "phase_id": 0}
    assert calls(Referee(rules), at(0.1, **approach), at(0.08, **approach)) == [None, Call(Request.BEGIN, "near")]
    referee = Referee(rules)
    told = calls(referee, *[at(0.08)] * 21)
    assert told[:20] == [None] * 20 and told[20] == Call(Request.FAILURE, "late")
    assert referee.look(at(0.08, phase=Phase.LABELLED, stamp=30 * STEP)) is None


def test_time_counts_from_where_the_phase_began() -> None:
    referee = Referee(Rules(failure=(Rule("late", after=0.2),)))
    calls(referee, *[at(0.1)] * 3)
    later = [at(0.1, phase_id=2, stamp=(10 + i) * STEP) for i in range(5)]
    assert [referee.look(sample) for sample in later] == [None] * 4 + [Call(Request.FAILURE, "late")]


@pytest.mark.parametrize("mode", [Mode.HOLD, Mode.RESET])
def test_while_the_arm_holds_no_rule_counts(mode: Mode) -> None:
    referee = Referee(Rules(success=(Rule("in", hold=0.1, box=LOW),)))
    assert calls(referee, at(0.05), at(0.05, mode=mode), at(0.05, mode=mode), at(0.05), at(0.05)) == [None] * 5


def test_a_success_comes_before_a_failure_and_a_person_at_the_handle_changes_nothing() -> None:
    referee = Referee(Rules(success=(Rule("in", box=LOW),), failure=(Rule("hard", force=Between(lower=30.0)),)))
    assert calls(referee, at(0.05, force=40.0, mode=Mode.HUMAN)) == [Call(Request.SUCCESS, "in")]


def test_a_clock_that_is_set_back_begins_every_hold_anew() -> None:
    referee = Referee(Rules(success=(Rule("in", hold=0.1, box=LOW),)))
    stamps = (10, 11, 5, 6)
    assert [referee.look(at(0.05, stamp=i * STEP)) for i in stamps] == [None] * 4


@pytest.mark.parametrize(
    ("rule", "met", "not_met"),
    [
        (Rule("r", box=Box((0.4, -0.1, 0.0), (0.6, 0.1, 0.2), (0.1, 0.1, 0.1))), {}, {"turn": np.array([0, 0, -0.2])}),
        (Rule("r", near=Near((0.5, 0.0, 0.05), 0.01, 0.06)), {}, {"pose": Pose.of([0.52, 0.0, 0.1], [1, 0, 0, 0])}),
        (Rule("r", gripper=Between(0.01, 0.03)), {}, {"gripper": 0.001}),
        (Rule("r", force=Between(lower=0.5), speed=Between(upper=0.02)), {}, {"speed": 0.1}),
        (Rule("r", torque=Between(upper=0.5)), {}, {"torque": 1.0}),
        (Rule("r", score=Score("reward", 0.9)), {"scores": {"reward": (0.95, 0.1)}}, {"scores": {"reward": (0.95, 2)}}),
        (Rule("r", score=Score("reward", 0.9)), {"scores": {"reward": (0.95, 0.1)}}, {}),
        (Rule("r", score=Score("reward", 0.9)), {"scores": {"reward": (0.95, 0.1)}}, {"scores": {"reward": (0.9, 0)}}),
    ],
)
def test_conditions(rule: Rule, met: dict, not_met: dict) -> None:
    assert rule.met(replace(BASE, **met), 0.0) and not rule.met(replace(BASE, **not_met), 0.0)


def test_the_preset_is_whole_and_names_its_topics() -> None:
    rules = load(Rules, PRESET)
    assert rules.begin and rules.success and rules.failure and rules.topics == []
    assert Rules(success=(Rule("r", score=Score("reward", 0.9)),)).topics == ["reward"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "there is no rule"),
        ({"success": [{"name": "x"}]}, "rule 'x' has no condition"),
        ({"success": [{"name": "x", "forse": {"lower": 1.0}}]}, r"success\[0\]: unknown key 'forse'"),
        ({"success": [{"name": "x", "force": {"lower": 2.0, "upper": 1.0}}]}, r"success\[0\].force: lower is 2.0"),
        ({"begin": [{"name": "x", "box": {"lower": [0, 0, 0], "upper": [0, 1, 1]}}]}, "expected lower below upper"),
        ({"failure": [{"name": "x", "after": -1.0}]}, "expected 0 s or more"),
        ({"failure": [{"name": "x", "force": 30.0}]}, r"failure\[0\].force: expected a mapping, found 30.0"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_place(values: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(Rules, values, "referee.yaml")

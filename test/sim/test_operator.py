from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.loop.requests import Request
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.judge import judge
from rlt_ros.sim.operator import OperatorConfig, ScriptedOperator
from rlt_ros.sim.truth import Truth
from rlt_ros.types import Mode, Phase

HOLE = Pose.of([0.5, 0.0, 0.05], [0.0, 0.0, 0.1, 1.0])


def truth(height: float, lateral: float = 0.0) -> Truth:
    return judge(HOLE.position + [lateral, 0.0, height], HOLE, SimConfig())


HIGH, NEAR, STUCK, IN = truth(0.035), truth(0.019), truth(0.0, 0.004), truth(-0.021)


def critical_phase(operator: ScriptedOperator, steps: int, mode: Mode = Mode.RL) -> dict[int, list[Request]]:
    """Requests by step of a critical phase in which the peg is stuck beside the hole; hand-overs are obeyed."""
    operator.decide(NEAR, Phase.APPROACH, 5, mode)
    said, now = {}, mode
    for step in range(steps + 1):
        requests = operator.decide(STUCK, Phase.CRITICAL, step, now)
        now = Mode.HUMAN if Request.MODE_HUMAN in requests else mode if requests else now
        if requests:
            said[step] = requests
    return said


def test_begins_near_the_hole() -> None:
    operator = ScriptedOperator()
    assert operator.decide(HIGH, Phase.APPROACH, 3) == []
    assert operator.decide(NEAR, Phase.APPROACH, 4) == [Request.BEGIN]


def test_begins_when_the_approach_dawdles() -> None:
    operator = ScriptedOperator()
    assert operator.decide(HIGH, Phase.APPROACH, 39) == []
    assert operator.decide(HIGH, Phase.APPROACH, 40) == [Request.BEGIN]


def test_success_comes_from_the_truth() -> None:
    operator = ScriptedOperator()
    assert operator.decide(NEAR, Phase.CRITICAL, 10) == []
    assert operator.decide(IN, Phase.CRITICAL, 11) == [Request.SUCCESS]


def test_deep_beside_the_hole_is_no_success() -> None:
    assert ScriptedOperator().decide(truth(-0.021, 0.02), Phase.CRITICAL, 11) == []


def test_failure_after_a_hundred_steps() -> None:
    assert critical_phase(ScriptedOperator(), 100) == {100: [Request.FAILURE]}


def test_success_on_the_last_step_is_a_success() -> None:
    assert ScriptedOperator().decide(IN, Phase.CRITICAL, 100) == [Request.SUCCESS]


def test_asks_for_a_reset_after_the_label_and_is_silent_when_idle() -> None:
    operator = ScriptedOperator()
    assert operator.decide(IN, Phase.LABELLED, 0) == [Request.RESET]
    assert operator.decide(IN, Phase.IDLE, 0) == []


@pytest.mark.parametrize(("mode", "back"), [(Mode.RL, Request.MODE_RL), (Mode.VLA, Request.MODE_VLA)])
def test_correction_is_handed_back_to_who_drove(mode: Mode, back: Request) -> None:
    operator = ScriptedOperator(OperatorConfig(intervention=1.0, patience=50, correction=20))
    assert critical_phase(operator, 100, mode) == {50: [Request.MODE_HUMAN], 70: [back], 100: [Request.FAILURE]}


def test_success_during_a_correction_hands_back_first() -> None:
    operator = ScriptedOperator(OperatorConfig(intervention=1.0))
    critical_phase(operator, 55)
    assert operator.decide(IN, Phase.CRITICAL, 56, Mode.HUMAN) == [Request.MODE_RL, Request.SUCCESS]


def test_does_not_take_over_from_a_person() -> None:
    operator = ScriptedOperator(OperatorConfig(intervention=1.0))
    operator.decide(NEAR, Phase.APPROACH, 0)
    assert operator.decide(STUCK, Phase.CRITICAL, 60, Mode.HUMAN) == []


def test_intervention_probability_and_seed() -> None:
    def helped(seed: int) -> list[bool]:
        operator = ScriptedOperator(OperatorConfig(intervention=0.3), seed)
        return [50 in critical_phase(operator, 60) for _ in range(200)]

    assert helped(1) == helped(1) != helped(2)
    assert np.mean(helped(1)) == pytest.approx(0.3, abs=0.1)


def test_probability_is_checked() -> None:
    with pytest.raises(ValueError, match=r"intervention is 1\.5"):
        OperatorConfig(intervention=1.5)


def test_nobody_helps_in_an_evaluation() -> None:
    operator = ScriptedOperator(OperatorConfig(intervention=1.0, patience=5))
    operator.decide(NEAR, Phase.APPROACH, 0)
    assert operator.decide(STUCK, Phase.CRITICAL, 60, Mode.VLA, may_help=False) == []
    assert operator.decide(STUCK, Phase.CRITICAL, 61, Mode.VLA) == [Request.MODE_HUMAN]

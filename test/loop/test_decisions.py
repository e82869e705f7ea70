"""When a chunk is due."""

from dataclasses import replace

import numpy as np

from rlt_ros.loop.decisions import Decisions
from rlt_ros.types import Driver, ExecutedStep, Features, Mode, Phase, PolicyMode


def features(number: int) -> Features:
    return Features(number, 0, 1, 0, np.zeros(4), np.zeros(19), np.zeros((10, 7)))


def mode(number: int, mode: Mode = Mode.VLA) -> PolicyMode:
    return PolicyMode(number, 0, mode, Phase.APPROACH, 0, 1, False, False, False)


def executed(number: int, remaining: int = 0, step: int = 9, reset_done: bool = False) -> ExecutedStep:
    zeros = np.zeros(7)
    return ExecutedStep(number, 0, 1, step, Driver.VLA, zeros, zeros, 0, remaining=remaining, reset_done=reset_done)


def lockstep() -> Decisions:
    decisions = Decisions(stride=2, lockstep=True)
    decisions.add_executed(executed(10))
    decisions.add_mode(mode(11))
    decisions.add_features(features(11))
    return decisions


def test_due_when_the_queue_is_empty_and_everything_holds_the_same_observation() -> None:
    decision = lockstep().due()
    assert decision is not None and decision.features.id == 11 and not decision.starts_episode


def test_order_of_arrival_does_not_matter() -> None:
    decisions = Decisions(stride=2, lockstep=True)
    decisions.add_features(features(11))
    assert decisions.due() is None
    decisions.add_mode(mode(11))
    decisions.add_executed(executed(10))
    assert decisions.due() is not None


def test_not_due_twice_nor_in_mid_chunk_nor_when_nobody_asks_the_policy() -> None:
    decisions = lockstep()
    decisions.made(decisions.due())
    assert decisions.due() is None
    decisions = lockstep()
    decisions.add_executed(executed(10, remaining=3))
    assert decisions.due() is None
    for other in (Mode.HOLD, Mode.HUMAN, Mode.RESET):
        decisions = lockstep()
        decisions.add_mode(replace(mode(11), mode=other))
        assert decisions.due() is None


def test_lockstep_never_decides_on_features_of_another_observation() -> None:
    decisions = lockstep()
    decisions.add_mode(mode(12))
    decisions.add_features(features(12))
    assert decisions.due() is None


def test_the_first_decision_and_one_after_a_reset_start_an_episode() -> None:
    decisions = Decisions(stride=2, lockstep=True)
    decisions.add_mode(mode(1))
    decisions.add_features(features(1))
    assert decisions.due().starts_episode
    decisions.add_executed(executed(1, reset_done=True))
    decisions.add_mode(mode(2))
    decisions.add_features(features(2))
    assert decisions.due().starts_episode


def test_an_odd_boundary_asks_for_its_pass_once() -> None:
    decisions = Decisions(stride=2, lockstep=True)
    decisions.add_executed(executed(10, step=4))
    decisions.add_mode(mode(11))
    assert decisions.wanted() == 11
    assert decisions.wanted() == 0
    decisions.add_executed(executed(11, step=5))
    decisions.add_mode(mode(12))
    assert decisions.wanted() == 0


def test_real_time_uses_the_newest_features_however_late() -> None:
    decisions = Decisions(stride=2, lockstep=False)
    decisions.add_executed(executed(13))
    decisions.add_mode(mode(14))
    decisions.add_features(features(11))
    decision = decisions.due()
    assert decision.features.id == 11
    decisions.made(decision)
    decisions.add_features(features(13))
    assert decisions.due().features.id == 13


def test_real_time_waits_for_the_report_of_the_chunk_it_has_sent() -> None:
    decisions = Decisions(stride=2, lockstep=False)
    decisions.add_executed(executed(10))
    decisions.add_mode(mode(11))
    decisions.add_features(features(11))
    decisions.made(decisions.due())
    decisions.add_mode(mode(12))
    decisions.add_features(features(12))
    assert decisions.due() is None
    decisions.add_executed(executed(11, remaining=9))
    assert decisions.due() is None
    decisions.add_executed(executed(20))
    assert decisions.due().features.id == 12

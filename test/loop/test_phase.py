"""Requests, refusals, labels. Field reports A29, A30, B57; method.md C.5."""

from __future__ import annotations

import pytest
from loop_parts import executed, stamp

from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Request
from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label, Mode, Phase, PolicyMode


class Run:
    """Walks a machine through observations; the executor is played by `reset_done` steps."""

    def __init__(self, is_open: bool = True) -> None:
        self.open = is_open
        self.machine = PhaseMachine(lambda: (self.open, "" if self.open else "12 of 300 rows"))
        self.id, self.episode = 0, 0
        self.last: ExecutedStep | None = None

    def observe(self) -> PolicyMode:
        self.id += 1
        word = self.machine.observe(self.id, stamp(self.id), self.episode, self.last)
        done = word.mode is Mode.RESET
        driver = Driver.RESET if done else Driver.VLA
        self.last = executed(self.id, driver, word.phase_id, episode=self.episode, reset_done=done)
        self.episode += done
        return word

    def to(self, phase: Phase, plan: EpisodePlan | None = None) -> PolicyMode:
        """Go on to APPROACH or CRITICAL of a first episode."""
        self.machine.plan(plan)
        assert self.machine.request(Request.RESET).accepted
        self.observe()
        word = self.observe()
        if phase is Phase.CRITICAL:
            assert self.machine.request(Request.BEGIN).accepted
            word = self.observe()
        return word


def test_before_anything_the_arm_holds() -> None:
    word = Run().observe()
    assert (word.mode, word.phase, word.phase_id) == (Mode.HOLD, Phase.IDLE, 0)


def test_an_episode_from_reset_to_reset() -> None:
    run = Run()
    run.machine.plan(EpisodePlan(reset_seed=7))
    run.observe()
    assert run.machine.request(Request.RESET).accepted
    word = run.observe()
    assert (word.mode, word.reset_seed, word.episode) == (Mode.RESET, 7, 0)
    word = run.observe()
    assert (word.mode, word.phase, word.episode, word.explore, word.record) == (
        Mode.VLA,
        Phase.APPROACH,
        1,
        False,
        False,
    )
    assert run.machine.request(Request.BEGIN).accepted
    word = run.observe()
    assert (word.mode, word.phase, word.phase_id, word.explore, word.record) == (Mode.RL, Phase.CRITICAL, 1, True, True)
    run.machine.plan(EpisodePlan(reset_seed=8))
    assert run.machine.request(Request.SUCCESS).accepted
    word = run.observe()
    assert (word.mode, word.phase, word.phase_id, word.reset_seed) == (Mode.RESET, Phase.LABELLED, 0, 8)
    assert run.machine.events() == [EpisodeEvent(run.id, stamp(run.id), 1, 1, Label.SUCCESS)]
    assert run.machine.events() == []
    word = run.observe()
    assert (word.mode, word.phase, word.episode) == (Mode.VLA, Phase.APPROACH, 2)


def test_an_observation_older_than_the_news_of_the_reset_changes_nothing() -> None:
    """In real time the observation node may count the episode a tick later than the executor."""
    run = Run()
    run.to(Phase.APPROACH)
    run.episode -= 1
    for _ in range(3):
        assert (word := run.observe()).mode is Mode.VLA and word.phase is Phase.APPROACH
        assert word.episode == 1
    run.episode += 1
    assert run.observe().mode is Mode.VLA


def test_a_label_names_the_observation_after_the_last_step() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    run.observe()
    last = run.id
    run.machine.request(Request.FAILURE)
    assert run.observe().phase is Phase.LABELLED
    assert run.machine.events()[0].observation_id == last + 1


def test_a_repeated_observation_gets_the_same_word() -> None:
    run = Run()
    word = run.to(Phase.CRITICAL)
    run.machine.request(Request.SUCCESS)
    assert run.machine.observe(run.id, stamp(run.id), run.episode, run.last) is word
    assert run.machine.events() == []
    assert run.observe().phase is Phase.LABELLED
    assert run.machine.observe(run.id - 1, stamp(run.id - 1), run.episode, None) is word
    with pytest.raises(ValueError, match="observation 0 came after observation"):
        run.machine.observe(0, 0, 0, None)


@pytest.mark.parametrize("label", [Request.SUCCESS, Request.FAILURE, Request.DISCARD, Request.ABORT])
def test_labels_need_a_critical_phase_and_are_given_once(label: Request) -> None:
    run = Run()
    run.observe()
    assert "no critical phase is under way (IDLE)" in run.machine.request(label).message
    run.to(Phase.APPROACH)
    assert "(APPROACH)" in run.machine.request(label).message
    run.machine.request(Request.BEGIN)
    run.observe()
    assert run.machine.request(label).accepted
    other = Request.FAILURE if label is not Request.FAILURE else Request.SUCCESS
    assert "labelled" in run.machine.request(other).message
    run.observe()
    assert run.machine.events()[0].label.name.lower() == label.value
    assert not run.machine.request(label).accepted


def test_begin_twice_and_begin_outside_an_episode() -> None:
    run = Run()
    run.observe()
    assert "reset first" in run.machine.request(Request.BEGIN).message
    run.to(Phase.APPROACH)
    assert run.machine.request(Request.BEGIN).accepted
    run.id += 10
    run.observe()
    assert "critical phase 1 has begun already" in run.machine.request(Request.BEGIN).message


def test_a_key_pressed_twice_within_50_ms_counts_once() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    assert run.machine.request(Request.MODE_VLA).accepted
    run.observe()
    assert "pressed twice" in run.machine.request(Request.MODE_VLA).message
    for _ in range(4):
        run.observe()
    assert run.machine.request(Request.MODE_VLA).accepted


def test_stops_are_never_debounced_or_refused() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    assert run.machine.request(Request.MODE_HOLD).accepted
    assert run.machine.request(Request.MODE_HOLD).accepted
    assert run.observe().mode is Mode.HOLD


@pytest.mark.parametrize("request_", sorted(set(Request) - {Request.MODE_HOLD, Request.PAUSE}))
def test_during_a_reset_only_stop_and_pause_are_accepted(request_: Request) -> None:
    run = Run()
    run.observe()
    run.machine.request(Request.RESET)
    answer = run.machine.request(request_)
    assert not answer.accepted and "a reset is in progress" in answer.message
    assert run.machine.request(Request.MODE_HOLD).accepted
    assert run.observe().mode is Mode.HOLD


def test_rl_needs_a_critical_phase_and_an_open_gate() -> None:
    run = Run(is_open=False)
    run.to(Phase.APPROACH)
    assert "begin one first" in run.machine.request(Request.MODE_RL).message
    answer = run.machine.request(Request.BEGIN)
    assert answer.accepted and "12 of 300 rows" in answer.message
    assert run.observe().mode is Mode.VLA
    assert run.machine.request(Request.MODE_RL).message == "RL: the gate is closed: 12 of 300 rows"
    run.open = True
    assert run.machine.request(Request.MODE_RL).accepted
    assert run.observe().mode is Mode.RL


def test_the_switch_can_be_undone() -> None:
    run = Run()
    assert run.to(Phase.CRITICAL).mode is Mode.RL
    run.machine.request(Request.MODE_VLA)
    assert run.observe().mode is Mode.VLA


def test_without_a_plan_the_arm_holds_after_a_label_until_the_operator_resets() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    run.machine.request(Request.ABORT)
    assert run.observe().mode is Mode.HOLD
    assert "reset first" in run.machine.request(Request.MODE_VLA).message
    run.machine.plan(EpisodePlan(reset_seed=3))
    assert run.observe().mode is Mode.RESET


def test_a_stop_outlives_the_label_and_the_next_plan() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    run.machine.plan(EpisodePlan())
    run.machine.request(Request.MODE_HOLD)
    run.machine.request(Request.FAILURE)
    assert run.observe().mode is Mode.HOLD
    run.machine.plan(EpisodePlan())
    assert run.observe().mode is Mode.HOLD
    assert run.machine.request(Request.RESET).accepted
    assert run.observe().mode is Mode.RESET


def test_no_reset_in_the_middle_of_a_critical_phase() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    for _ in range(4):
        run.observe()
    assert "label, discard or abort it first" in run.machine.request(Request.RESET).message


def test_a_reset_that_nobody_asked_for_discards_the_phase_and_holds() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    last = run.id
    run.episode += 1
    word = run.observe()
    assert (word.mode, word.phase, word.episode) == (Mode.HOLD, Phase.APPROACH, 2)
    event = run.machine.events()[0]
    assert (event.label, event.observation_id, event.episode) == (Label.DISCARD, last + 1, 1)


def test_evaluation_settings_and_human_help() -> None:
    run = Run()
    word = run.to(Phase.CRITICAL, EpisodePlan(Mode.RL, explore=False, record=False, evaluation=True))
    assert (word.evaluation, word.explore, word.record) == (True, False, False)
    assert not run.machine.intervened
    run.machine.request(Request.MODE_HUMAN)
    assert run.observe().mode is Mode.HUMAN
    assert run.machine.intervened


def test_a_scene_prepared_by_hand_needs_no_reset() -> None:
    run = Run()
    run.observe()
    assert run.machine.request(Request.MODE_VLA).accepted
    assert run.observe().phase is Phase.APPROACH


def test_plans_that_contradict_themselves() -> None:
    with pytest.raises(ValueError, match="evaluation"):
        EpisodePlan(evaluation=True)
    with pytest.raises(ValueError, match="policy"):
        EpisodePlan(policy=Mode.HOLD)


def test_a_person_hands_back_to_whom_the_plan_wants() -> None:
    run = Run()
    run.to(Phase.APPROACH)
    run.machine.request(Request.MODE_HUMAN)
    assert run.observe().mode is Mode.HUMAN
    assert run.machine.request(Request.HAND_BACK).message == "VLA drives"
    assert run.observe().mode is Mode.VLA
    run.machine.request(Request.BEGIN)
    run.machine.request(Request.MODE_HUMAN)
    word = run.observe()
    assert (word.mode, word.phase) == (Mode.HUMAN, Phase.CRITICAL)
    assert run.machine.request(Request.HAND_BACK).message == "RL drives"
    word = run.observe()
    assert (word.mode, word.phase, word.phase_id) == (Mode.RL, Phase.CRITICAL, 1)


def test_handed_back_before_the_gate_is_open_the_vla_drives_and_it_is_said() -> None:
    run = Run(is_open=False)
    run.to(Phase.CRITICAL)
    run.machine.request(Request.MODE_HUMAN)
    run.observe()
    assert run.machine.request(Request.HAND_BACK).message == "VLA drives (the gate is closed: 12 of 300 rows)"
    assert run.observe().mode is Mode.VLA


def test_where_a_person_is_planned_handing_back_leaves_the_mode() -> None:
    run = Run()
    run.to(Phase.CRITICAL, EpisodePlan(Mode.HUMAN, explore=False, record=False, approach=Mode.HUMAN))
    assert run.machine.request(Request.HAND_BACK).message == "HUMAN drives"
    assert run.observe().mode is Mode.HUMAN


def test_only_a_person_who_drives_can_hand_back() -> None:
    run = Run()
    run.observe()
    assert run.machine.request(Request.HAND_BACK).message == "hand_back: the person does not drive (HOLD)"
    run.to(Phase.APPROACH)
    assert run.machine.request(Request.HAND_BACK).message == "hand_back: the person does not drive (VLA)"


def test_between_two_episodes_handing_back_starts_nothing() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    run.machine.plan(EpisodePlan())
    for request in (Request.MODE_HOLD, Request.SUCCESS):
        run.machine.request(request)
    run.observe()
    run.machine.request(Request.MODE_HUMAN)
    assert run.observe().mode is Mode.HUMAN
    answer = run.machine.request(Request.HAND_BACK)
    assert answer.accepted and "the arm holds until next or reset" in answer.message
    word = run.observe()
    assert (word.mode, word.phase) == (Mode.HOLD, Phase.LABELLED)


def test_let_go_and_taken_again_at_once_is_no_bounce() -> None:
    run = Run()
    run.to(Phase.CRITICAL)
    for request in (Request.MODE_HUMAN, Request.HAND_BACK) * 3:
        answer = run.machine.request(request)
        assert answer.accepted, answer.message
    assert run.observe().mode is Mode.RL
    assert run.machine.request(Request.MODE_HUMAN).accepted
    assert "pressed twice" in run.machine.request(Request.MODE_HUMAN).message

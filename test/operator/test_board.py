"""What the operator is told is what happened: labels, help, silence, answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_parts import executed, stamp
from operator_parts import Clock

from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.operator.board import SILENCE, StatusBoard
from rlt_ros.operator.devices.said import DevicesSaid
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import LAST, Tally
from rlt_ros.types import Driver, EpisodeEvent, Label, Mode, Phase

ALARMS = dict.fromkeys(
    ("alarm_q", "alarm_q_return", "alarm_copy", "alarm_action", "alarm_weights", "alarm_rows"), 0.0
) | {"alarms": ""}
LEARNER = {"rows": 212, "critic_updates": 40, "update_debt": 7, **ALARMS}


def always() -> tuple[bool, str]:
    return True, ""


class Run:
    """A board beside a conductor, at 20 Hz; the executor is played."""

    def __init__(self, gate=lambda: (False, "212 of 512 rows"), **config: object) -> None:
        self.clock = Clock()
        values = {"practice_minutes": 1.0, "eval_episodes": 3, "warmup_episodes": 0} | config
        self.conductor = Conductor(PhaseMachine(always), Session(SessionConfig(**values), always))
        self.board = StatusBoard(self.conductor, 20.0, gate, clock=self.clock)
        self.id, self.episode = 0, 0

    def step(self, *requests: Request, count: int = 1, driver: Driver = Driver.VLA, reason: str = "") -> None:
        for request in requests:
            answer = self.conductor.machine.request(request)
            self.board.answered(request, answer, stamp(self.id))
        for _ in range(count):
            self.id += 1
            self.clock.now += 0.05
            word = self.conductor.observe(self.id, stamp(self.id), self.episode)
            self.board.said(word.mode, word.events)
            done = word.mode.mode is Mode.RESET
            who = Driver.RESET if done else driver
            values = {"episode": self.episode, "reset_done": done, "reason": reason}
            step = executed(self.id, who, word.mode.phase_id, **values)
            self.conductor.add_executed(step)
            self.board.executed(step)
            self.board.executed(step)  # a repeated one
            self.episode += done

    def phase(self, label: Request, steps: int = 10, driver: Driver = Driver.VLA) -> None:
        self.step(count=4)
        self.step(Request.BEGIN, count=steps, driver=driver)
        self.step(label)

    @property
    def status(self) -> OperatorStatus:
        return self.board.status(stamp(self.id))


def test_before_anything_nothing_is_claimed() -> None:
    status = Run().status
    assert (status.phase, status.mode, status.driver) == (Phase.IDLE, Mode.HOLD, None)
    assert (status.success_rate, status.intervention_rate, status.seconds_since_label) == (None, None, None)
    assert (status.learner_silence, status.weights_version, status.answers) == (None, 0, 0)
    assert not status.gate_open and status.gate_reason == "212 of 512 rows"


def test_phases_labels_and_help_are_counted() -> None:
    run = Run()
    run.step(Request.RESET)
    run.phase(Request.SUCCESS, 10)
    run.phase(Request.FAILURE, 30, Driver.HUMAN)
    run.clock.now += 4.0
    status = run.status
    assert status.labels == (Label.SUCCESS, Label.FAILURE)
    assert (status.success_rate, status.failure_streak) == (0.5, 1)
    assert status.intervention_rate == pytest.approx(30 / 40)
    assert status.seconds_since_label == pytest.approx(4.0)
    assert (status.stage, status.stage_episodes, status.phase_id) == ("practice", 2, 2)
    assert status.practice_minutes_wanted == 1.0 and 0.0 < status.practice_minutes < status.robot_minutes
    assert status.robot_minutes == pytest.approx(run.id / 20.0 / 60.0)


def test_a_discarded_phase_leaves_nothing_behind() -> None:
    run = Run()
    run.step(Request.RESET)
    run.phase(Request.DISCARD, 10, Driver.HUMAN)
    status = run.status
    assert status.labels == () and status.intervention_rate is None
    assert status.seconds_since_label == 0.0 or status.seconds_since_label < 0.06


def test_driver_is_who_really_drove_and_a_hold_has_its_reason() -> None:
    run = Run()
    run.step(Request.RESET, count=3)
    run.step(driver=Driver.HOLD, reason="recovery: REFLEX, waiting for recover")
    status = run.status
    assert (status.mode, status.driver) == (Mode.VLA, Driver.HOLD)
    assert status.recovery and status.hold_reason == "recovery: REFLEX, waiting for recover"
    run.step()
    assert run.status.hold_reason == "" and not run.status.recovery


def test_the_last_answer_stands_with_its_stamp_and_is_shown_at_once() -> None:
    run = Run()
    run.step()
    before = run.status
    run.board.answered(Request.MODE_RL, Answer(False, "RL: the gate is closed: 212 of 512 rows"), stamp(run.id))
    status = run.status
    assert status.at_once != before.at_once
    assert (status.request, status.accepted, status.answers) == ("mode_rl", False, 1)
    assert status.answer_stamp == stamp(run.id)


def test_figures_of_learner_and_actor_get_older() -> None:
    run = Run()
    run.board.learner.take(SimpleNamespace(**LEARNER))
    run.board.actor.take(SimpleNamespace(weights_version=3, weights_age=1.5))
    run.clock.now += 2.0
    status = run.status
    assert (status.rows, status.updates, status.update_debt) == (212, 40, 7)
    assert (status.weights_version, status.weights_age) == (3, pytest.approx(3.5))
    assert status.learner_silence == pytest.approx(2.0)


def test_silence_alarms_and_links_are_warned_of() -> None:
    run = Run()
    run.board.learner.take(SimpleNamespace(**LEARNER))
    run.board.actor.take(SimpleNamespace(weights_version=0, weights_age=0.0))
    run.step()
    assert run.status.warnings == ()
    run.clock.now += SILENCE + 2.0
    run.step()
    assert run.status.warnings == ("no word from the actor for 7 s", "no word from the learner for 7 s")
    run.board.actor.take(run.board.actor.stats)
    run.board.learner.take(SimpleNamespace(**LEARNER | {"alarm_q": 1.0, "alarms": "Q is 1.3; at most 1.05"}))
    link = SimpleNamespace(node="/rlt/learner", host="gpu", silence=8.0, round_trip=0.0, clock_offset=0.0)
    said = run.board.status(0, [link], ["of the node", ""]).warnings
    assert said == ("of the node", "learner: Q is 1.3; at most 1.05", "NO ANSWER from learner on gpu for 8 s")
    run.clock.now += SILENCE + 1.0
    assert run.status.warnings[0] == "no word from the observation node for 6 s"


def test_evaluation_progress_and_help_are_told() -> None:
    run = Run(practice_minutes=0.0)
    run.step(Request.RESET, count=2)
    run.step(Request.MODE_HUMAN)
    status = run.status
    assert (status.stage, status.stage_episodes, status.stage_episodes_wanted) == ("base", 0, 3)
    assert status.evaluation and status.intervened


@given(
    st.lists(st.tuples(st.sampled_from(list(Label)[1:]), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60)
)
def test_the_tally_agrees_with_a_count_from_the_beginning(phases) -> None:
    tally, number = Tally(), 0
    for phase_id, (label, human, policy) in enumerate(phases, start=1):
        for driver in [Driver.HUMAN] * human + [Driver.ACTOR] * policy:
            number += 1
            tally.add(executed(number, driver, phase_id))
        tally.end(EpisodeEvent(number, 0, 1, phase_id, label))
    kept = [phase for phase in phases if phase[0] is not Label.DISCARD]
    last = kept[-LAST:]
    outcomes = [label is Label.SUCCESS for label, _, _ in last if label is not Label.ABORT]
    steps, human = sum(h + p for _, h, p in last), sum(h for _, h, _ in last)
    after = [label for label, _, _ in kept if label is not Label.ABORT][::-1]
    streak = after.index(Label.SUCCESS) if Label.SUCCESS in after else len(after)
    assert tally.labels == tuple(label for label, _, _ in last)
    assert tally.success_rate == (sum(outcomes) / len(outcomes) if outcomes else None)
    assert tally.intervention_rate == (human / steps if steps else None)
    assert tally.failure_streak == streak


def test_a_step_that_comes_after_the_label_counts() -> None:
    tally = Tally()
    tally.add(executed(1, Driver.ACTOR, 1))
    tally.end(EpisodeEvent(3, 0, 1, 1, Label.SUCCESS))
    tally.add(executed(2, Driver.HUMAN, 1))
    assert tally.intervention_rate == 0.5


def test_devices_that_are_live_are_shown_and_the_others_are_warned_of() -> None:
    clock = Clock()
    said = DevicesSaid(clock)
    said.take("gamepad", True, "live, deadman released")
    said.take("pedal", False, "unplugged (No such device)")
    assert said.live == ("gamepad: live, deadman released",)
    assert said.warnings == ["device pedal: unplugged (No such device)"]
    clock.now += 6.0
    said.take("pedal", True, "live")
    assert said.live == ("pedal: live",)
    assert said.warnings == ["device gamepad: no word of it any more"]

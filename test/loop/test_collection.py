"""A session of demonstrations: plans, what is objected to, and a person who goes back by hand."""

from __future__ import annotations

import pytest
from loop_parts import executed, stamp

from rlt_ros.loop.collection import (
    CollectionConfig,
    CollectionSession,
    CollectorStatus,
    RecordingGate,
    closed,
    status_line,
)
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.requests import Request
from rlt_ros.types import Driver, Label, Mode, Phase, PolicyMode


class Run:
    """Walks a collection through observations; a reset takes one step."""

    def __init__(self, reset: bool, seed: int = 1) -> None:
        self.gate = RecordingGate(CollectorStatus())
        machine = PhaseMachine(closed, objection=self.gate.objection)
        self.conductor = Conductor(machine, CollectionSession(CollectionConfig(seed, reset)))
        self.machine = machine
        self.id, self.episode = 0, 0

    def observe(self) -> PolicyMode:
        self.id += 1
        word = self.conductor.observe(self.id, stamp(self.id), self.episode)
        done = word.mode.mode is Mode.RESET
        driver = Driver.RESET if done else Driver.HUMAN if word.mode.mode is Mode.HUMAN else Driver.HOLD
        self.conductor.add_executed(
            executed(self.id, driver, word.mode.phase_id, episode=self.episode, reset_done=done)
        )
        self.episode += done
        self.events = word.events
        return word.mode

    def press(self, request: Request) -> None:
        answer = self.machine.request(request)
        assert answer.accepted, answer.message

    def demonstrate(self, label: Request = Request.SUCCESS, steps: int = 6) -> PolicyMode:
        """From begin to the word that ends the phase."""
        self.press(Request.BEGIN)
        for _ in range(steps):
            word = self.observe()
            assert (word.mode, word.phase, word.record) == (Mode.HUMAN, Phase.CRITICAL, False)
        self.press(label)
        return self.observe()


def test_with_a_reset_the_person_drives_from_the_start_state_on() -> None:
    run = Run(reset=True)
    run.observe()
    run.press(Request.RESET)
    seeds = [run.observe().reset_seed]
    for _ in range(3):
        assert (word := run.observe()).mode is Mode.HUMAN and word.phase is Phase.APPROACH
        run.demonstrate()
        assert [event.label for event in run.events] == [Label.SUCCESS]
        word = run.observe()
        assert (word.mode, word.phase) == (Mode.RESET, Phase.LABELLED)
        seeds.append(word.reset_seed)
    assert len(set(seeds)) == 4 and all(0 <= seed < 2**30 for seed in seeds)
    again = Run(reset=True)
    again.observe()
    again.press(Request.RESET)
    assert again.observe().reset_seed == seeds[0]


def test_without_a_reset_the_arm_holds_after_a_label_and_the_person_goes_back_by_hand() -> None:
    run = Run(reset=False)
    run.observe()
    for phase_id in (1, 2, 3):
        run.press(Request.MODE_HUMAN)
        assert (word := run.observe()).mode is Mode.HUMAN and word.phase is Phase.APPROACH
        for _ in range(5):
            run.observe()
        word = run.demonstrate(Request.DISCARD if phase_id == 2 else Request.SUCCESS)
        assert (word.mode, word.phase) == (Mode.HOLD, Phase.LABELLED)
        assert [(event.phase_id, event.label) for event in run.events] == [
            (phase_id, Label.DISCARD if phase_id == 2 else Label.SUCCESS)
        ]
        for _ in range(5):
            assert run.observe().mode is Mode.HOLD
        assert not run.machine.request(Request.BEGIN).accepted, "the arm holds: somebody must drive first"


@pytest.mark.parametrize("request_", [Request.MODE_VLA, Request.MODE_RL])
def test_no_policy_drives(request_: Request) -> None:
    run = Run(reset=False)
    run.observe()
    answer = run.machine.request(request_)
    assert not answer.accepted and answer.message.split(": ")[0].lower() in ("mode_vla", "rl")


def test_begin_waits_for_the_collector_and_is_refused_while_it_cannot_record() -> None:
    run = Run(reset=False)
    run.gate.status = None
    run.observe()
    run.press(Request.MODE_HUMAN)
    run.observe()
    assert "no word from the collector" in run.machine.request(Request.BEGIN).message
    run.gate.status = CollectorStatus(failure="12 MB free in demos; at least 200 MB must be")
    answer = run.machine.request(Request.BEGIN)
    assert not answer.accepted and "12 MB free" in answer.message
    assert run.machine.request(Request.MODE_HOLD).accepted, "stop is always accepted"
    run.gate.status = CollectorStatus()
    run.press(Request.BEGIN)


def test_settled_means_dealt_with_and_able_to_go_on() -> None:
    gate = RecordingGate()
    assert not gate.settled(0)
    gate.status = CollectorStatus(settled=3)
    assert gate.settled(3) and not gate.settled(4)
    gate.status = CollectorStatus(settled=3, failure="disk full")
    assert not gate.settled(3)


def test_status_line_says_what_a_person_must_know() -> None:
    assert status_line(None, "IDLE", "HOLD") == "waiting for the collector"
    status = CollectorStatus(saved=3, discarded=1, wanted=10, verdict="saved, 52 frames")
    line = status_line(status, "APPROACH", "HUMAN")
    assert line == "saved 3 of 10 | discarded 1 | refused 0 | phase approach | mode human | last: saved, 52 frames"
    assert "NOT RECORDING: disk full" in status_line(CollectorStatus(failure="disk full"), "IDLE", "HOLD")

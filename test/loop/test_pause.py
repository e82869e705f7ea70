"""Pause and next: whether an episode follows by itself."""

from __future__ import annotations

from loop_parts import executed, stamp

from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Request
from rlt_ros.types import Driver, Mode, Phase, PolicyMode


class Run:
    """A machine whose next episode is always planned, as the conductor does it."""

    def __init__(self, plan: EpisodePlan | None = None) -> None:
        self.machine = PhaseMachine(lambda: (True, ""))
        self.plan = plan or EpisodePlan()
        self.machine.plan(self.plan)
        self.id, self.episode, self.last = 0, 0, None

    def step(self, *requests: Request, count: int = 5) -> PolicyMode:
        """Press, then go on for a few observations: longer than the debounce; the word for the last one."""
        for request in requests:
            answer = self.machine.request(request)
            assert answer.accepted, answer.message
        for _ in range(count):
            self.id += 1
            word = self.machine.observe(self.id, stamp(self.id), self.episode, self.last)
            if self.machine.events():
                self.machine.plan(self.plan)
            done = word.mode is Mode.RESET
            self.last = executed(
                self.id, Driver.RESET if done else Driver.VLA, word.phase_id, episode=self.episode, reset_done=done
            )
            self.episode += done
        return word

    def refused(self, request: Request) -> str:
        answer = self.machine.request(request)
        assert not answer.accepted
        return answer.message


def test_every_request_has_one_code() -> None:
    assert sorted((*LABEL_REQUESTS, *MODE_REQUESTS)) == sorted(Request)


def test_a_pause_lets_the_episode_end_and_keeps_the_next_one_back() -> None:
    run = Run()
    assert run.step(Request.RESET).phase is Phase.APPROACH
    assert run.step(Request.PAUSE, Request.BEGIN).phase is Phase.CRITICAL
    word = run.step(Request.SUCCESS, count=40)
    assert (word.mode, word.phase) == (Mode.HOLD, Phase.LABELLED)
    assert run.machine.paused
    assert run.step(Request.NEXT, count=1).mode is Mode.RESET
    assert run.step().phase is Phase.APPROACH
    assert not run.machine.paused
    run.step(Request.BEGIN)
    assert run.step(Request.SUCCESS, count=3).phase is Phase.APPROACH, "without a pause the next episode follows"


def test_next_takes_back_a_pause_that_has_not_begun() -> None:
    run = Run()
    run.step(Request.RESET)
    run.step(Request.BEGIN, Request.PAUSE)
    assert run.machine.request(Request.NEXT).message == "no pause after this episode"
    assert run.step().phase is Phase.CRITICAL
    assert run.step(Request.FAILURE, count=3).phase is Phase.APPROACH


def test_next_goes_on_after_a_stop() -> None:
    run = Run()
    run.step(Request.RESET)
    run.step(Request.BEGIN)
    word = run.step(Request.MODE_HOLD, Request.FAILURE, count=20)
    assert (word.mode, word.phase) == (Mode.HOLD, Phase.LABELLED)
    assert run.step(Request.NEXT, count=1).mode is Mode.RESET


def test_a_pause_during_a_reset_lets_the_arm_arrive_and_hold_there_until_next() -> None:
    run = Run()
    run.machine.request(Request.RESET)
    assert run.machine.observe(1, stamp(1), 0, None).mode is Mode.RESET
    assert run.machine.request(Request.PAUSE).message == "pause after this reset"
    run.id, run.last = 1, executed(1, Driver.RESET, 0, episode=0, reset_done=True)
    run.episode = 1
    word = run.step(count=20)
    assert (word.mode, word.phase) == (Mode.HOLD, Phase.APPROACH)
    assert run.machine.request(Request.NEXT).message == "the episode goes on, VLA drives"
    assert run.step().mode is Mode.VLA
    run.step(Request.BEGIN)
    assert run.step(Request.SUCCESS, count=3).phase is Phase.APPROACH, "the pause is over"


def test_whoever_begins_by_hand_out_of_such_a_pause_is_paused_again_after_the_label() -> None:
    run = Run()
    run.machine.request(Request.RESET)
    run.machine.observe(1, stamp(1), 0, None)
    run.machine.request(Request.PAUSE)
    run.id, run.episode, run.last = 1, 1, executed(1, Driver.RESET, 0, episode=0, reset_done=True)
    run.step()
    run.step(Request.BEGIN, Request.MODE_VLA)
    word = run.step(Request.FAILURE, count=20)
    assert (word.mode, word.phase) == (Mode.HOLD, Phase.LABELLED)
    assert run.step(Request.NEXT, count=1).mode is Mode.RESET


def test_next_right_after_a_label_is_not_refused_for_the_moment_that_the_label_takes() -> None:
    run = Run()
    run.step(Request.RESET)
    run.step(Request.BEGIN, Request.PAUSE)
    assert run.machine.request(Request.SUCCESS).accepted
    assert run.machine.request(Request.NEXT).message == "the next episode follows"
    assert run.step(count=3).phase is Phase.APPROACH


def test_a_reset_ends_a_pause_too() -> None:
    run = Run()
    run.step(Request.PAUSE)
    assert run.step(Request.RESET, count=1).mode is Mode.RESET
    assert not run.machine.paused


def test_next_begins_an_episode_that_needs_no_reset() -> None:
    run = Run(EpisodePlan(reset=False, approach=Mode.HUMAN, policy=Mode.HUMAN))
    run.step()
    assert run.machine.request(Request.NEXT).message == "next episode, HUMAN drives"
    word = run.step()
    assert (word.mode, word.phase) == (Mode.HUMAN, Phase.APPROACH)


def test_next_and_pause_that_make_no_sense_are_refused_with_the_reason() -> None:
    run = Run()
    run.step(Request.RESET)
    assert "an episode is under way (APPROACH)" in run.refused(Request.NEXT)
    run.step(Request.PAUSE)
    assert "there is a pause already; next goes on" in run.refused(Request.PAUSE)


def test_a_pause_pressed_twice_at_once_counts_once() -> None:
    run = Run()
    run.step(Request.RESET)
    assert run.machine.request(Request.PAUSE).accepted
    assert "pressed twice within 0.20 s" in run.refused(Request.PAUSE)
    assert run.machine.paused

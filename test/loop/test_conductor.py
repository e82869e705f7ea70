"""A session through the phase machine: plans, counts, results."""

from __future__ import annotations

from loop_parts import executed, stamp

from rlt_ros.loop.conductor import Conductor, Word
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.types import Driver, Label, Mode, Phase


def always() -> tuple[bool, str]:
    return True, ""


class Run:
    """Walks a conductor through observations; late: steps at which a begun phase has not reached the executor yet."""

    def __init__(self, **config: object) -> None:
        values = {"practice_minutes": 1.0, "eval_episodes": 1, "warmup_episodes": 0}
        session = Session(SessionConfig(**(values | config)), always)
        self.conductor = Conductor(PhaseMachine(always), session)
        self.id, self.episode, self.late = 0, 0, 0

    def step(self, *requests: Request) -> Word:
        for request in requests:
            assert self.conductor.machine.request(request).accepted
        self.id += 1
        word = self.conductor.observe(self.id, stamp(self.id), self.episode)
        done = word.mode.mode is Mode.RESET
        phase_id = 0 if self.late > 0 else word.mode.phase_id
        self.late -= bool(word.mode.phase_id)
        driver = Driver.RESET if done else Driver.VLA
        self.conductor.add_executed(executed(self.id, driver, phase_id, episode=self.episode, reset_done=done))
        self.episode += done
        return word


def begun() -> Run:
    run = Run()
    run.step(Request.RESET)
    run.step()
    run.step(Request.BEGIN)
    return run


def test_the_result_of_a_phase_counts_its_executed_steps() -> None:
    run = begun()
    for _ in range(9):
        run.step()
    word = run.step(Request.SUCCESS)
    assert [event.label for event in word.events] == [Label.SUCCESS]
    assert run.conductor.session.practice == {"episodes": 1, "successes": 1, "invalid": 0, "mean_steps": 10.0}
    assert run.conductor.session.progress.practice_steps == 11


def test_a_phase_that_has_begun_under_an_older_chunk_has_no_steps_yet() -> None:
    """Else the count of the phase before would make the operator give up at once."""
    run = begun()
    for _ in range(99):
        run.step()
    run.step(Request.FAILURE)
    while run.conductor.machine.phase is not Phase.APPROACH:
        run.step()
    run.late = 3
    seen = []
    run.step(Request.BEGIN)
    for _ in range(4):
        seen.append(run.conductor.steps_in_phase)
        run.step()
    assert seen == [0, 0, 0, 1]


def test_the_next_plan_starts_the_reset_and_the_last_one_holds() -> None:
    run = Run(practice_minutes=0.0)
    run.step(Request.RESET)
    for stage in ("base", "base_with_noise", "final", "final_with_noise"):
        assert run.conductor.session.progress.stage == stage
        run.step()
        run.step(Request.BEGIN)
        run.step()
        run.step(Request.SUCCESS)
        if stage != "final_with_noise":
            assert run.step().mode.mode is Mode.RESET
    assert run.conductor.finished
    assert run.step().mode.mode is Mode.HOLD


def test_repeated_steps_and_observations_count_once() -> None:
    run = begun()
    again = run.conductor.executed
    run.conductor.add_executed(again)
    assert run.conductor.robot_steps == run.id
    word = run.conductor.observe(run.id, stamp(run.id), run.episode)
    assert word.events == [] and word.mode.phase is Phase.CRITICAL


def test_the_result_of_an_episode_names_who_drove() -> None:
    run = begun()
    for _ in range(9):
        run.step()
    (result,) = run.step(Request.SUCCESS).results
    assert (result.stage, result.label, result.steps, result.drivers) == ("practice", "SUCCESS", 10, {"VLA": 10})
    assert result.robot_steps == 11 and result.counted and not result.intervened and not result.evaluation


def test_a_discarded_episode_does_not_count() -> None:
    (result,) = begun().step(Request.DISCARD).results
    assert result.label == "DISCARD" and not result.counted and result.drivers == {"VLA": 1}

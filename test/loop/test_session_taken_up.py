"""A session whose node was killed goes on where it stood."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rlt_ros.loop.conductor import Conductor, Word
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.session_file import SessionFile
from rlt_ros.types import Driver, ExecutedStep, Label, Mode, Phase

OPEN = lambda: (True, "")  # noqa: E731
CONFIG = SessionConfig(practice_minutes=1.0, eval_episodes=2, warmup_episodes=0, seed=3)
STILL = np.zeros(7, np.float32)
STEP = 50_000_000


class Run:
    """Observations and steps, driven by whoever sits at the switch."""

    def __init__(self, conductor: Conductor) -> None:
        self.conductor, self.id, self.episode, self.step = conductor, 0, 0, 0

    def go(self, *requests: Request) -> Word:
        for request in requests:
            answer = self.conductor.machine.request(request)
            assert answer.accepted, answer.message
        self.id += 1
        word = self.conductor.observe(self.id, self.id * STEP, self.episode)
        mode, done = word.mode, word.mode.mode is Mode.RESET
        driver = Driver.RESET if done else Driver.HOLD if mode.mode is Mode.HOLD else Driver.VLA
        executed = (self.id, self.id * STEP, self.episode, self.step, driver, STILL, STILL, mode.phase_id)
        self.conductor.add_executed(ExecutedStep(*executed, reset_done=done))
        self.episode, self.step = (self.episode + 1, 0) if done else (self.episode, self.step + 1)
        return word


def conductor() -> Conductor:
    return Conductor(PhaseMachine(OPEN), Session(CONFIG, OPEN))


def practised() -> Run:
    """A run in the fourth step of its third phase."""
    run = Run(conductor())
    run.go(Request.RESET)
    for _ in range(2):
        run.go()
        run.go(Request.BEGIN)
        for _ in range(5):
            run.go()
        run.go(Request.SUCCESS)
        run.go()
    run.go()
    run.go(Request.BEGIN)
    for _ in range(3):
        run.go()
    return run


def taken_up(run: Run) -> Run:
    """The run with another node at the switch, which knows only what was written."""
    state = json.loads(json.dumps(run.conductor.state()))
    run.conductor = Conductor.take_up(PhaseMachine(OPEN), Session(CONFIG, OPEN), state)
    return run


def test_the_phase_under_way_is_aborted_and_the_arm_holds_until_somebody_asks() -> None:
    run = taken_up(practised())
    word = run.go()
    (event,) = word.events
    assert (event.label, event.phase_id, event.observation_id, event.episode) == (Label.ABORT, 3, run.id, run.episode)
    assert word.mode.mode is Mode.HOLD and word.mode.phase is Phase.LABELLED
    assert run.go().mode.mode is Mode.HOLD
    assert run.go(Request.RESET).mode.mode is Mode.RESET
    run.go()
    assert run.go(Request.BEGIN).mode.phase_id == 4, "no number twice"


def test_results_practice_time_and_start_states_go_on() -> None:
    left, other = practised(), taken_up(practised())
    assert other.conductor.session.practice == left.conductor.session.practice
    assert other.conductor.session.progress.episode == 2
    assert other.conductor.session.progress.practice_steps == left.conductor.session.progress.practice_steps > 0
    other.go()
    left_next, other_next = (run.conductor.session.next_episode().reset_seed for run in (left, other))
    assert left_next != other_next, "the start state of the lost episode is not used again"


def test_between_phases_the_arm_holds_too() -> None:
    run = practised()
    run.go(Request.FAILURE)
    taken_up(run)
    word = run.go()
    assert word.events == [] and word.mode.mode is Mode.HOLD and word.mode.phase is Phase.IDLE
    assert run.conductor.session.practice["episodes"] == 3
    run.go(Request.RESET)
    run.go()
    assert run.go(Request.BEGIN).mode.phase_id == 4


def test_the_file_is_of_one_launch(tmp_path: Path) -> None:
    path, run = tmp_path / "session.json", practised()
    mine = SessionFile(path, "launch-1")
    assert mine.read() is None
    mine.write(run.conductor)
    assert SessionFile(path, "launch-1").read() == run.conductor.state()
    assert SessionFile(path, "launch-2").read() is None
    assert [p.name for p in tmp_path.iterdir()] == ["session.json"]


def test_it_is_written_when_a_phase_begins_or_ends(tmp_path: Path) -> None:
    path, run = tmp_path / "session.json", practised()
    file = SessionFile(path, "launch-1")
    file.write(run.conductor)
    path.unlink()
    run.go()
    file.write(run.conductor)
    assert not path.exists(), "not for every observation"
    run.go(Request.FAILURE)
    file.write(run.conductor)
    assert file.read() == run.conductor.state()


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    for text in ("{", "[]", '{"launch": "launch-1"}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="session.json: no session can be taken up"):
            SessionFile(path, "launch-1").read()

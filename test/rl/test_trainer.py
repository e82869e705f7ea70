"""Training in the background gives what training in the caller's thread gives, and never fails in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.checkpoint import latest, resume, save_checkpoint
from rlt_ros.rl.config import OPERATIONAL
from rlt_ros.rl.learner import Diverged, Learner
from rlt_ros.rl.trainer import Trainer, TrainingFailed
from rlt_ros.types import Transition

PHASE = 8
WITHIN = 60.0
"""Seconds after which a test gives up on another thread."""


def learner(**changes) -> Learner:
    return Learner(small_config(**changes), DIMS, CONTRACT, 5.0)


def rounds(count: int) -> list[list[Transition]]:
    made = rows(count * PHASE)
    return [made[i : i + PHASE] for i in range(0, len(made), PHASE)]


def same(a: Learner, b: Learner) -> bool:
    (first, one), (second, two) = a.state(), b.state()
    return one == two and all(torch.equal(first[name], second[name]) for name in first)


class Stepwise:
    """A learner that waits for the test before each slice of training."""

    def __init__(self, subject: Learner) -> None:
        self.subject, self.may_go_on, self.training = subject, threading.Semaphore(0), threading.Semaphore(0)

    @property
    def due_updates(self) -> int:
        return self.subject.due_updates

    def add(self, new: list[Transition]) -> int:
        return self.subject.add(new)

    def train(self, max_updates: int, stop: Callable[[], bool]) -> int:
        self.training.release()
        assert self.may_go_on.acquire(timeout=WITHIN)
        return self.subject.train(max_updates, stop)


def test_background_and_synchronous_training_give_the_same_weights() -> None:
    there, here = learner(bc_pretrain_updates=30), learner(bc_pretrain_updates=30)
    behind, direct = Trainer(there, background=True), Trainer(here, background=False)
    for one in rounds(6):
        direct.add(one)
        behind.add(one)  # the next round comes while this one is learned from, or before
    behind.wait()
    assert there.agent.critic_updates == 6 * PHASE * 5
    assert same(there, here)
    behind.stop()


def test_a_round_waits_until_the_rounds_before_it_are_learned_from() -> None:
    stepwise = Stepwise(learner())
    trainer = Trainer(stepwise, background=True)
    first, second, third = rounds(3)
    trainer.add(first + second)
    trainer.add(third)
    assert stepwise.training.acquire(timeout=WITHIN)
    assert stepwise.subject.rows == 2 * PHASE
    for _ in range(3 * PHASE):
        stepwise.may_go_on.release()
    trainer.wait()
    assert stepwise.subject.rows == 3 * PHASE
    trainer.stop()


def test_stop_ends_within_one_update_and_keeps_what_is_owed() -> None:
    stepwise = Stepwise(learner(utd=5))
    trainer = Trainer(stepwise, background=True)
    trainer.add(rows(4 * PHASE)[: 3 * PHASE])
    trainer.add(rows(4 * PHASE)[3 * PHASE :])
    assert stepwise.training.acquire(timeout=WITHIN)
    trainer.halt()
    stepwise.may_go_on.release()
    trainer.stop()
    assert stepwise.subject.agent.critic_updates == 0
    assert stepwise.subject.rows == 4 * PHASE and stepwise.subject.update_debt == 4 * PHASE * 5


@pytest.mark.parametrize("background", [False, True])
def test_an_interrupted_run_is_resumed_where_it_stopped_and_spends_its_backlog(
    tmp_path: Path, background: bool
) -> None:
    data = rows(32)
    whole = learner()
    Trainer(whole, background=False).add(data)
    interrupted = learner()
    interrupted.add(data)
    interrupted.train(70)  # an interrupt after 70 of 160 updates
    save_checkpoint(tmp_path, interrupted)
    resumed = Learner(replace(small_config(), async_training=background), DIMS, CONTRACT, 5.0)
    resume(resumed, iter(data), latest(tmp_path))
    trainer = Trainer(resumed, background)
    trainer.wait()
    trainer.stop()
    assert resumed.agent.critic_updates == 160
    assert same(resumed, whole)
    assert "async_training" in OPERATIONAL


@pytest.mark.parametrize("background", [False, True])
def test_a_failure_reaches_the_caller_and_nothing_is_learned_any_more(
    background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = learner()
    trainer = Trainer(subject, background)

    def diverge(batch: object) -> None:
        raise Diverged("critic_loss is nan at critic update 1")

    monkeypatch.setattr(subject.agent, "update", diverge)
    with pytest.raises(TrainingFailed, match="Diverged: critic_loss is nan") as failure:
        trainer.add(rows(32))
        trainer.wait()
    assert isinstance(failure.value.__cause__, Diverged)
    for again in (lambda: trainer.add(rows(8)), trainer.wait, trainer.check):
        with pytest.raises(TrainingFailed):
            again()
    trainer.stop()
    assert trainer.failed


def test_an_error_of_any_kind_in_the_thread_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = learner()
    monkeypatch.setattr(subject, "train", lambda *_: {}["no such thing"])
    trainer = Trainer(subject, background=True)
    trainer.add(rows(32))
    with pytest.raises(TrainingFailed, match="KeyError"):
        trainer.wait()


def test_rows_that_came_another_way_are_learned_from_when_they_may() -> None:
    """As in the learner node: its inbox adds rows one by one, and in lockstep a phase waits for its last row."""
    subject, spent = learner(), threading.Event()
    trainer = Trainer(subject, True, lambda: not subject.phase_open, on_spent=spent.set)
    for row in rows(4 * PHASE)[:-1]:
        subject.add([row])
        if subject.phase_open:
            trainer.wake()
    subject_before = subject.agent.critic_updates
    assert subject_before <= 3 * PHASE * 5 and subject.phase_open
    subject.add(rows(4 * PHASE)[-1:])
    trainer.wake()
    assert spent.wait(WITHIN)
    trainer.wait()
    assert subject.agent.critic_updates == 4 * PHASE * 5
    trainer.stop()


def test_a_backlog_is_spent_before_new_rounds_are_seen() -> None:
    owing = learner()
    owing.add(rows(3 * PHASE)[: 2 * PHASE])
    stepwise = Stepwise(owing)
    trainer = Trainer(stepwise, background=True)
    assert stepwise.training.acquire(timeout=WITHIN)
    trainer.add(rows(3 * PHASE)[2 * PHASE :])
    assert owing.rows == 2 * PHASE
    for _ in range(3 * PHASE):
        stepwise.may_go_on.release()
    trainer.wait()
    assert owing.rows == 3 * PHASE and owing.due_updates == 0
    trainer.stop()

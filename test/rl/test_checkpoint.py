"""A run that stops and resumes is the run that did not stop, bit for bit (field report A18)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.checkpoint import STATE, TENSORS, CheckpointError, latest, numbers, resume, save_checkpoint
from rlt_ros.rl.config import Dims
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner

CONFIG = small_config(bc_pretrain_updates=25, gate_updates=300, actor_after=20, replay_capacity=48)


def learner(config=CONFIG, contract=CONTRACT) -> Learner:
    return Learner(config, DIMS, contract, 5.0)


def assert_same(a: Learner, b: Learner) -> None:
    (tensors, values), (other_tensors, other_values) = a.state(), b.state()
    assert values == other_values
    assert tensors.keys() == other_tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, other_tensors[name]), name


def test_train_200_save_resume_train_200_equals_train_400(tmp_path):
    made = rows(96)
    journal = Journal(tmp_path / "transitions")
    straight, stopped = learner(), learner()
    for row in made[:64]:
        journal.append(row)
    straight.add(made[:64]), stopped.add(made[:64])
    stopped.train(200)
    save_checkpoint(tmp_path / "checkpoints", stopped)
    del stopped

    resumed = learner()
    resume(resumed, Journal(tmp_path / "transitions"), latest(tmp_path / "checkpoints"))
    straight.train(200)
    assert_same(straight, resumed)
    resumed.train(100), resumed.add(made[64:]), resumed.train(100)
    straight.train(100), straight.add(made[64:]), straight.train(100)
    assert_same(straight, resumed)
    assert resumed.weights().data == straight.weights().data
    assert len(resumed.replay) == 48 and resumed.replay.evicted == 48
    assert resumed.gate.reason == straight.gate.reason


def test_rows_that_came_after_the_checkpoint_are_learned_from(tmp_path):
    made = rows(48)
    first = learner()
    first.add(made[:32])
    first.train(1000)
    path = save_checkpoint(tmp_path, first)
    second = learner()
    resume(second, made, path)
    first.add(made[32:])
    assert second.update_debt == 16 * CONFIG.utd
    assert_same(first, second)


def test_without_a_checkpoint_the_rows_alone_are_taken_up(tmp_path):
    subject = learner()
    resume(subject, rows(20), latest(tmp_path))
    assert (subject.rows, subject.update_debt) == (20, 100)


def test_an_open_gate_is_open_after_a_restart(tmp_path):
    config = small_config()
    before = learner(config)
    before.add(rows(16))
    before.train(1000)
    assert before.gate.open
    after = learner(config)
    resume(after, rows(16), save_checkpoint(tmp_path, before))
    assert after.gate.open


def test_fewer_rows_than_the_checkpoint_counts_are_refused(tmp_path):
    saved = learner()
    saved.add(rows(20))
    path = save_checkpoint(tmp_path, saved)
    with pytest.raises(CheckpointError, match="after 20 rows; the journal holds 12"):
        resume(learner(), rows(12), path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: learner(contract="other"), "contract is 'c0ffee'; this run has 'other'"),
        (lambda: learner(replace(CONFIG, gamma=0.9)), "config.gamma is 0.99; this run has 0.9"),
        (lambda: learner(replace(CONFIG, passthrough=(1,))), r"config.passthrough is \[2\]; this run has \[1\]"),
        (lambda: Learner(CONFIG, Dims(5, 3, 3), CONTRACT, 5.0), "dims.z is 4; this run has 5"),
    ],
)
def test_another_contract_or_setting_is_refused_with_both_values(tmp_path, other, message):
    path = save_checkpoint(tmp_path, learner())
    with pytest.raises(CheckpointError, match=message):
        resume(other(), [], path)


def test_an_operational_setting_may_change(tmp_path):
    path = save_checkpoint(tmp_path, learner())
    resume(learner(replace(CONFIG, device="meta")), [], path)


def test_the_thread_count_of_a_checkpoint_is_kept_and_that_is_said(tmp_path, caplog):
    """Sums over two threads round differently: a run goes on as it began, whatever the setting says by now."""
    try:
        before = learner(replace(CONFIG, threads=2))
        before.add(rows(32)), before.train(100)
        path = save_checkpoint(tmp_path, before)
        after = learner(replace(CONFIG, threads=1))
        resume(after, rows(32), path)
        assert torch.get_num_threads() == after.config.threads == 2
        assert "threads: 2 kept from the checkpoint; the setting here is 1" in caplog.text
        before.train(60), after.train(60)
        assert_same(before, after)
        assert after.weights().data == before.weights().data
        caplog.clear()
        resume(learner(replace(CONFIG, threads=2)), rows(32), save_checkpoint(tmp_path, after))
        assert not caplog.text
    finally:
        torch.set_num_threads(1)


def test_checkpoints_are_numbered_and_earlier_ones_stay(tmp_path):
    paths = [save_checkpoint(tmp_path, learner()) for _ in range(3)]
    assert [p.name for p in paths] == ["000001", "000002", "000003"]
    assert sorted(numbers(tmp_path)) == [1, 2, 3]
    assert latest(tmp_path) == paths[2]


def test_torn_and_unfinished_directories_are_passed_over(tmp_path, caplog):
    good, torn, empty = (save_checkpoint(tmp_path, learner()) for _ in range(3))
    with (torn / TENSORS).open("r+b") as file:
        file.truncate(1000)
    (empty / STATE).unlink()
    (tmp_path / ".000004.partial").mkdir()
    assert latest(tmp_path) == good
    assert str(torn) in caplog.text and str(empty) in caplog.text
    assert save_checkpoint(tmp_path, learner()).name == "000004"


def test_the_directory_is_readable_without_this_package(tmp_path):
    path = save_checkpoint(tmp_path, learner())
    state = json.loads((path / STATE).read_text())
    assert state["config"]["gamma"] == 0.99 and state["contract"] == CONTRACT
    with safe_open(path / TENSORS, "numpy") as file:
        assert {"actor.weights.0", "critic.head_bias", "target.state_weight", "generator"} <= set(file.keys())
    assert {p.name for p in path.iterdir()} == {STATE, TENSORS}

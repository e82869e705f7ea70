"""A run that stops and resumes is the run that did not stop, bit for bit (field report A18)."""

from __future__ import annotations

import json
import resource
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.checkpoint import REPLAY, STATE, TENSORS, CheckpointError, latest, numbers, resume, save_checkpoint
from rlt_ros.rl.config import Dims
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner

CONFIG = small_config(bc_pretrain_updates=25, gate_updates=300, actor_after=20, replay_capacity=48)


def learner(config=CONFIG, contract=CONTRACT) -> Learner:
    return Learner(config, DIMS, contract, 5.0)


def assert_same(a: Learner, b: Learner) -> None:
    with a.held() as (tensors, values, stored), b.held() as (other_tensors, other_values, other):
        assert values == other_values
        assert tensors.keys() == other_tensors.keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, other_tensors[name]), name
        assert (stored.added, list(stored.keys)) == (other.added, list(other.keys))
        assert stored.columns.keys() == other.columns.keys()
        for name in stored.columns.keys() - {"start", "next"}:  # where features lie does not matter
            np.testing.assert_array_equal(stored.columns[name], other.columns[name], name)
        for place in ("start", "next"):
            for name, array in stored.features.items():
                mine, theirs = stored.columns[place], other.columns[place]
                np.testing.assert_array_equal(array[mine], other.features[name][theirs], name)


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


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("before", [20, 48, 75])
def test_a_copied_directory_alone_goes_on_as_the_run_did(tmp_path, before, half):
    """No journal, another place; with a ring that is not full, just full, and in its second lap."""
    config = replace(CONFIG, half_precision_z=half, batch=4, bc_pretrain_updates=25, actor_after=4)
    made = rows(200)
    straight = learner(config)
    straight.add(made[:before])
    straight.train(40)
    shutil.copytree(save_checkpoint(tmp_path / "here", straight), tmp_path / "there" / "000007")
    resumed = learner(config)
    resume(resumed, [], latest(tmp_path / "there"))
    assert_same(straight, resumed)
    for subject in (straight, resumed):
        subject.train(20)
        subject.add(made[before:])
        subject.train(30)
    assert resumed.replay.evicted == straight.replay.evicted > 0
    assert_same(straight, resumed)
    assert resumed.stats().human_rate == straight.stats().human_rate


def test_a_checkpoint_of_a_checkpoint_is_the_same(tmp_path):
    """Features freed by eviction leave gaps in memory; none gets to the disk, and none is forgotten."""
    first, second = learner(), learner()
    first.add(rows(90))
    path = save_checkpoint(tmp_path, first)
    resume(second, [], path)
    again = save_checkpoint(tmp_path, second)
    assert (path / REPLAY).read_bytes() == (again / REPLAY).read_bytes()
    assert second.replay.observations == first.replay.observations == 49


def test_an_open_phase_is_open_after_a_restart(tmp_path):
    saved, resumed = learner(), learner()
    saved.add(rows(12))
    resume(resumed, [], save_checkpoint(tmp_path, saved))
    assert saved.phase_open and resumed.phase_open
    assert resumed.awaits("s")


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


def test_rows_that_the_checkpoint_holds_are_not_taken_twice_even_if_evicted(tmp_path):
    saved, resumed = learner(), learner()
    saved.add(rows(90))
    path = save_checkpoint(tmp_path, saved)
    resume(resumed, rows(92), path)
    assert (resumed.progress.rows, resumed.replay.added) == (92, 92)


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


def test_another_format_is_refused_with_both_numbers_and_not_passed_over(tmp_path):
    """Field report D07: a new version must not begin anew beside what an old one has learned."""
    path = save_checkpoint(tmp_path, learner())
    state = json.loads((path / STATE).read_text())
    (path / STATE).write_text(json.dumps(state | {"format": 1}))
    for attempt in (latest, lambda _: resume(learner(), [], path)):
        with pytest.raises(CheckpointError, match=r"000001 has checkpoint format 1; this version reads and writes 2"):
            attempt(tmp_path)


@pytest.mark.parametrize("name", [TENSORS, REPLAY])
def test_one_rotten_byte_is_noticed(tmp_path, caplog, name):
    good, bad = (save_checkpoint(tmp_path, learner()) for _ in range(2))
    data = bytearray((bad / name).read_bytes())
    data[-1] ^= 1
    (bad / name).write_bytes(data)
    assert latest(tmp_path) == good
    assert f"checksum of {name} is" in caplog.text


@pytest.mark.parametrize(("keep", "left"), [(0, [1, 2, 3, 4, 5]), (1, [4, 5]), (3, [2, 3, 4, 5]), (9, [1, 2, 3, 4, 5])])
def test_older_checkpoints_stay_as_many_as_asked_for(tmp_path, keep, left):
    for _ in range(5):
        save_checkpoint(tmp_path, learner(), keep)
    assert sorted(numbers(tmp_path)) == left


@pytest.mark.parametrize("room", [100, 20_000])
def test_a_full_disk_leaves_the_last_checkpoint_and_training_goes_on(tmp_path, room):
    """Field report B32. The kernel lets no file grow beyond so many bytes: the replay or the tensors get stuck."""
    subject = learner()
    subject.add(rows(40))
    subject.train(30)
    good = save_checkpoint(tmp_path, subject, keep=1)
    sizes = {p.name: p.stat().st_size for p in good.iterdir()}
    assert any(size > room for size in sizes.values()), sizes
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(CheckpointError, match="000002 is not written, earlier checkpoints stand: .*File too large"):
            save_checkpoint(tmp_path, subject, keep=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p.name for p in tmp_path.iterdir()] == ["000001"]
    assert subject.train(30) == 30
    assert latest(tmp_path) == good
    assert save_checkpoint(tmp_path, subject).name == "000002"


def test_the_directory_is_readable_without_this_package(tmp_path):
    path = save_checkpoint(tmp_path, learner())
    state = json.loads((path / STATE).read_text())
    assert state["config"]["gamma"] == 0.99 and state["contract"] == CONTRACT
    with safe_open(path / TENSORS, "numpy") as file:
        assert {"actor.weights.0", "critic.head_bias", "target.state_weight", "generator"} <= set(file.keys())
    assert {p.name for p in path.iterdir()} == {STATE, TENSORS, REPLAY}

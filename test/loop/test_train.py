"""`rlt train` learns from what a run left behind what the run itself has learned, and is not fooled about the rows."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.loop.inbox import Inbox
from rlt_ros.loop.train_cli import main
from rlt_ros.rl.checkpoint import latest, read_state, resume, save_checkpoint
from rlt_ros.rl.config import Dims
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.origin import Origin, OriginMismatch, claim
from rlt_ros.rl.weights import load_policy, read_policy_file
from rlt_ros.strict import build

CONFIG = small_config(warmup_episodes=2, warmup_rows=20, bc_pretrain_updates=10, actor_after=10, gate_updates=50, utd=2)


def lived(run: Path, count: int = 64, config=CONFIG, stream: str = "s", contract: str = CONTRACT) -> Learner:
    """A live run in lockstep, as the learner node makes it: a phase is learned from when all of it is on disk."""
    learner = Learner(config, DIMS, contract, 5.0)
    claim(run / "transitions", Origin.of(learner))
    inbox = Inbox(Journal(run / "transitions"), learner, contract)
    resume(learner, inbox.replayed(), None)
    for row in rows(count, stream=stream):
        inbox.receive(row, contract)
        inbox.flush()
        while not learner.phase_open and learner.train(50):
            learner.weights(), learner.stats()
    save_checkpoint(run / "checkpoints", learner)
    return learner


def reopened(run: Path) -> Learner:
    """What the newest checkpoint of a run holds."""
    found = latest(run / "checkpoints")
    state = read_state(found)
    config = build(type(CONFIG), state["config"], "config")
    learner = Learner(config, build(Dims, state["dims"], "dims"), state["contract"], state["translation_mm"])
    resume(learner, [], found)
    return learner


def assert_same_learning(a: Learner, b: Learner) -> None:
    (tensors, values), (others, other_values) = a.state(), b.state()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, others[name]), name
    assert {**values, "weights_version": 0} == {**other_values, "weights_version": 0}


def train(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_the_journal_of_a_live_run_gives_its_weights_bit_for_bit(tmp_path):
    live = lived(tmp_path / "live")
    assert train(tmp_path / "live", "--out", tmp_path / "again") == 0
    assert live.agent.critic_updates > 50 and live.agent.actor_updates > 20
    assert_same_learning(live, reopened(tmp_path / "again"))


def test_the_checkpoint_alone_gives_them_too(tmp_path):
    live = lived(tmp_path / "live")
    assert train(tmp_path / "live" / "checkpoints" / "000001", "--out", tmp_path / "again") == 0
    assert_same_learning(live, reopened(tmp_path / "again"))


def test_other_settings_or_another_seed_give_others(tmp_path):
    live = lived(tmp_path / "live")
    for name, options in {"a": ["--seed", "1"], "b": ["--set", "bc_beta=3e-1"]}.items():
        assert train(tmp_path / "live", "--out", tmp_path / name, *options) == 0
        with pytest.raises(AssertionError):
            assert_same_learning(live, reopened(tmp_path / name))
    assert reopened(tmp_path / "a").config == replace(CONFIG, seed=1)
    assert reopened(tmp_path / "b").config == replace(CONFIG, bc_beta=0.3)


def test_with_updates_all_rows_come_first_and_exactly_so_many_are_made(tmp_path):
    lived(tmp_path / "live")
    for updates in (30, 300):  # fewer and more than the rows earn
        out = tmp_path / str(updates)
        assert train(tmp_path / "live", "--out", out, "--updates", updates) == 0
        learner = reopened(out)
        assert (learner.agent.critic_updates, learner.rows, learner.update_debt) == (updates, 64, 0)


def test_a_run_directory_is_left_as_a_live_run_leaves_it(tmp_path):
    lived(tmp_path / "live")
    out = tmp_path / "again"
    assert train(tmp_path / "live", "--out", out) == 0
    left = {"checkpoints", "metrics.jsonl", "policy.safetensors", "summary.json", "tensorboard"}
    assert {p.name for p in out.iterdir()} == left
    summary = json.loads((out / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["finished"] and summary["sources"] == {str(tmp_path / "live" / "transitions"): 64}
    assert summary["learner"]["critic_updates"] == 128
    load_policy(read_policy_file(out / "policy.safetensors", CONTRACT), CONTRACT)


def test_an_unfinished_record_at_the_end_is_left_out_and_nothing_is_changed(tmp_path):
    """The run may be going on."""
    lived(tmp_path / "live")
    journal = tmp_path / "live" / "transitions" / "000001.rlt"
    data = journal.read_bytes() + b"\x80\x00\x00\x00torn"
    journal.write_bytes(data)
    assert train(tmp_path / "live", "--out", tmp_path / "again") == 0
    assert journal.read_bytes() == data


def test_rows_of_two_runs_are_learned_from_together(tmp_path):
    for name in ("a", "b"):
        lived(tmp_path / name, 32, stream=name)
    assert train(tmp_path / "a", tmp_path / "b", "--out", tmp_path / "both") == 0
    assert reopened(tmp_path / "both").taken == {"a": 32, "b": 32}


def test_init_weights_start_the_actor_and_are_refused_with_another_contract(tmp_path, capsys):
    lived(tmp_path / "live")
    assert train(tmp_path / "live", "--out", tmp_path / "first") == 0
    start = tmp_path / "first" / "policy.safetensors"
    assert train(tmp_path / "live", "--out", tmp_path / "b", "--updates", "0", "--init-weights", start) == 0
    first, second = reopened(tmp_path / "first"), reopened(tmp_path / "b")
    for a, b in zip(first.agent.actor.parameters(), second.agent.actor.parameters()):
        assert torch.equal(a, b)
    lived(tmp_path / "other", contract="other")
    assert train(tmp_path / "other", "--out", tmp_path / "c", "--init-weights", start) == 1
    assert "'c0ffee'; expected 'other'" in capsys.readouterr().err


@pytest.mark.parametrize("updates", [None, 700])
def test_an_interrupted_run_saves_and_the_resumed_one_ends_as_one_that_was_not(tmp_path, updates):
    lived(tmp_path / "live", 240)
    options = [] if updates is None else ["--updates", updates]
    assert train(tmp_path / "live", "--out", tmp_path / "straight", *options) == 0
    command = [sys.executable, "-m", "rlt_ros.loop.train_cli", tmp_path / "live", "--out", tmp_path / "cut", *options]
    process = subprocess.Popen([*map(str, command), "--save-every", "20"], stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "cut").glob("checkpoints/0*")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "interrupted and saved" in said
    assert not json.loads((tmp_path / "cut" / "summary.json").read_text())["finished"]
    assert train(tmp_path / "live", "--out", tmp_path / "cut", *options) == 1
    assert train(tmp_path / "live", "--out", tmp_path / "cut", "--resume", *options) == 0
    assert_same_learning(reopened(tmp_path / "straight"), reopened(tmp_path / "cut"))


def test_what_cannot_be_learned_from_is_named(tmp_path, capsys):
    for name, options in {"a": {}, "other": {"contract": "other"}}.items():
        lived(tmp_path / name, 16, **options)
    (tmp_path / "empty").mkdir()
    a, cases = tmp_path / "a", []
    cases.append(([a, "--out", a], f"{a} exists already"))
    cases.append(([a, "--out", tmp_path / "x", "--resume"], "does not exist: there is nothing to resume"))
    cases.append(([tmp_path / "empty", "--out", tmp_path / "x"], "empty: no rows here"))
    cases.append(([a, tmp_path / "other", "--out", tmp_path / "x"], "contract is 'other'; this run has 'c0ffee'"))
    cases.append(([a, a / "checkpoints/000001", "--out", tmp_path / "x"], "both have rows of stream 's'"))
    cases.append(([a, "--out", tmp_path / "x", "--set", "gama=1"], "unknown key 'gama'"))
    cases.append(([a, "--out", tmp_path / "x", "--set", "gamma"], "--set gamma: expected NAME=VALUE"))
    cases.append(([a, "--out", tmp_path / "x", "--set", "chunk=5"], "settings.chunk is 5; the rows have 4"))
    for arguments, message in cases:
        assert train(*arguments) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_run_of_an_older_version_needs_its_stage_1_checkpoint_named(tmp_path, capsys):
    """Without a note of their origin, rows are not guessed at."""
    lived(tmp_path / "old", 16)
    (tmp_path / "old" / "transitions" / "origin.json").unlink()
    state = tmp_path / "old" / "checkpoints" / "000001" / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"format": 1}))
    assert train(tmp_path / "old", "--out", tmp_path / "x") == 1
    assert "does not say which contract its rows have: name its Stage-1 --checkpoint" in capsys.readouterr().err


def test_a_journal_is_not_gone_on_in_with_rows_of_another_meaning(tmp_path):
    learner = lived(tmp_path / "run", 16)
    claim(tmp_path / "run" / "transitions", Origin.of(learner))
    with pytest.raises(OriginMismatch, match="origin.json: contract is 'c0ffee'; this run has 'other'"):
        claim(tmp_path / "run" / "transitions", replace(Origin.of(learner), contract="other"))

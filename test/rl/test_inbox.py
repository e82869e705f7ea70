"""Rows sent at least once, in any order, by several robots: each is learned from once, in order, and never lost."""

from __future__ import annotations

import random
import re
import resource
import shutil
from dataclasses import replace

import numpy as np
import pytest
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.loop import inbox as inbox_module
from rlt_ros.loop.inbox import Inbox, Status
from rlt_ros.rl.checkpoint import resume, save_checkpoint
from rlt_ros.rl.codec import Refused
from rlt_ros.rl.journal import Journal, JournalError
from rlt_ros.rl.learner import Learner


def started(directory, checkpoint=None) -> tuple[Inbox, Learner]:
    """Inbox and learner as after a start, with whatever the directory holds."""
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    inbox = Inbox(Journal(directory), learner, CONTRACT)
    resume(learner, inbox.replayed(), checkpoint)
    return inbox, learner


def receive(inbox, made, contract=CONTRACT):
    return [inbox.receive(row, contract) for row in made]


def acks(inbox):
    return {ack.stream: ack.ack_id for ack in inbox.flush()}


def with_nan(row):
    return replace(row, actions=np.full_like(row.actions, np.nan))


def test_rows_in_order_are_taken_and_acknowledged_once_they_are_on_disk(tmp_path):
    inbox, learner = started(tmp_path)
    assert receive(inbox, rows(5)) == [Status.ACCEPTED] * 5
    (ack,) = inbox.flush()
    assert (ack.stream, ack.ack_id, ack.rows, ack.update_debt, ack.weights_version) == ("s", 5, 5, 25, 0)
    assert inbox.flush() == []
    assert learner.rows == 5


def test_a_gap_holds_back_receipt_and_learning_but_loses_nothing(tmp_path):
    inbox, learner = started(tmp_path)
    made = rows(6)
    assert receive(inbox, [made[0], made[2], made[3], made[5]])[1:] == [Status.EARLY] * 3
    assert acks(inbox) == {"s": 1}
    assert inbox.receive(made[1], CONTRACT) is Status.ACCEPTED
    assert acks(inbox) == {"s": 4}
    inbox.receive(made[4], CONTRACT)
    assert acks(inbox) == {"s": 6}
    assert learner.rows == 6


def test_doubles_are_dropped_counted_and_acknowledged_again(tmp_path):
    inbox, learner = started(tmp_path)
    made = rows(4)
    receive(inbox, [*made[:2], made[3]])
    inbox.flush()
    assert receive(inbox, [made[0], made[3]]) == [Status.DUPLICATE] * 2
    assert acks(inbox) == {"s": 2}  # the first receipt may have been lost
    assert (inbox.duplicates, learner.rows) == (2, 2)


def test_shuffled_doubled_and_interleaved_streams_give_every_row_once(tmp_path):
    inbox, learner = started(tmp_path)
    made = rows(60, seed=1, stream="a") + rows(60, seed=2, stream="b")
    sent = 3 * made
    random.Random(4).shuffle(sent)
    receive(inbox, sent)
    assert acks(inbox) == {"a": 60, "b": 60}
    assert (learner.rows, inbox.duplicates) == (120, 240)
    ids = {"a": [], "b": []}
    for entry in Journal(tmp_path):
        ids[entry.stream].append(entry.id)
    assert ids == {"a": list(range(1, 61)), "b": list(range(1, 61))}


def test_after_a_restart_everything_acknowledged_is_there_and_nothing_twice(tmp_path):
    made = rows(50)
    inbox, before = started(tmp_path)
    receive(inbox, made[:30])
    assert acks(inbox) == {"s": 30}
    again, learner = started(tmp_path)
    assert learner.rows == 30
    assert learner.update_debt == before.update_debt
    assert receive(again, made[20:]) == [Status.DUPLICATE] * 10 + [Status.ACCEPTED] * 20
    assert acks(again) == {"s": 50}
    assert [entry.id for entry in Journal(tmp_path)] == list(range(1, 51))


def test_after_a_restart_senders_can_be_told_how_far_their_streams_came(tmp_path):
    first, _ = started(tmp_path)
    receive(first, rows(4, stream="a"))
    receive(first, rows(2, stream="b"))
    assert first.taken_up() and first.flush()
    again, _ = started(tmp_path)
    assert {ack.stream: ack.ack_id for ack in again.taken_up()} == {"a": 4, "b": 2}
    assert again.flush() == []


def test_rows_behind_a_gap_are_not_acknowledged_and_gone_after_a_restart(tmp_path):
    made = rows(4)
    inbox, _ = started(tmp_path)
    receive(inbox, [made[0], made[2]])
    assert acks(inbox) == {"s": 1}
    again, learner = started(tmp_path)
    receive(again, made[1:])
    assert (acks(again), learner.rows) == ({"s": 4}, 4)


@pytest.mark.parametrize(
    ("spoil", "contract", "reason"),
    [
        (with_nan, CONTRACT, r"actions\[0, 0\] is nan"),
        (lambda row: replace(row, valid_horizon=9), CONTRACT, "valid_horizon is 9; expected 1..4"),
        (lambda row: row, "other", "contract is 'other'; expected 'c0ffee'"),
        (lambda row: replace(row, features_id=99), CONTRACT, "features_id is 99|features.id is"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_once_and_does_not_block_its_stream(tmp_path, spoil, contract, reason):
    inbox, learner = started(tmp_path)
    made = rows(3)
    assert inbox.receive(spoil(made[0]), contract) is Status.REFUSED
    assert acks(inbox) == {"s": 1}
    assert inbox.receive(made[0], CONTRACT) is Status.DUPLICATE
    (entry,) = Journal(tmp_path)
    assert isinstance(entry, Refused)
    assert re.search(reason, entry.reason)
    again, learner = started(tmp_path)
    assert (again.refused, learner.rows) == (1, 0)
    assert inbox.refused == 1


def test_features_of_a_refused_row_serve_the_rows_that_name_them(tmp_path):
    inbox, learner = started(tmp_path)
    made = rows(8)
    statuses = receive(inbox, [made[0], with_nan(made[1]), *made[2:5]])
    assert statuses == [Status.ACCEPTED, Status.REFUSED, *[Status.ACCEPTED] * 3]
    again, learner = started(tmp_path)
    assert (learner.rows, learner.replay.observations) == (4, 6)
    receive(again, made[5:])
    assert learner.rows == 7


def test_features_of_a_refused_row_serve_after_a_restart_too(tmp_path):
    inbox, _ = started(tmp_path)
    made = rows(3)
    receive(inbox, [made[0], with_nan(made[1])])
    inbox.flush()
    again, _ = started(tmp_path)
    assert again.receive(made[2], CONTRACT) is Status.ACCEPTED


def test_with_a_checkpoint_the_streams_take_up_where_the_journal_stops(tmp_path):
    """Its rows come from the checkpoint, those after it and the features of refused ones from the journal."""
    inbox, first = started(tmp_path / "journal")
    made = rows(24)
    receive(inbox, [made[0], with_nan(made[1])])
    path = save_checkpoint(tmp_path / "checkpoints", first)
    receive(inbox, made[2:3])
    inbox.flush()
    again, learner = started(tmp_path / "journal", path)
    assert (learner.rows, learner.replay.observations, again.refused) == (2, 4, 1)
    assert again.receive(made[2], CONTRACT) is Status.DUPLICATE
    assert receive(again, made[3:5]) == [Status.ACCEPTED] * 2
    assert acks(again) == {"s": 5}


def test_a_checkpoint_without_its_journal_knows_how_far_the_streams_came(tmp_path):
    """Copied to another machine: a sender that goes on is not waited for with rows that it has forgotten."""
    inbox, first = started(tmp_path / "journal")
    made = rows(24)
    receive(inbox, made[:16])
    path = save_checkpoint(tmp_path / "checkpoints", first)
    again, learner = started(tmp_path / "elsewhere", path)
    assert {ack.stream: ack.ack_id for ack in again.taken_up()} == {"s": 16}
    assert receive(again, made[15:]) == [Status.DUPLICATE] + [Status.ACCEPTED] * 8
    assert learner.rows == 24


def test_a_journal_that_lacks_rows_of_the_checkpoint_is_said(tmp_path, caplog):
    inbox, first = started(tmp_path / "journal")
    made = rows(24)
    receive(inbox, made[:8])
    shutil.copytree(tmp_path / "journal", tmp_path / "short")
    receive(inbox, made[8:16])
    path = save_checkpoint(tmp_path / "checkpoints", first)
    again, learner = started(tmp_path / "short", path)
    assert "stream s: the journal ends at row 8, the checkpoint at 16" in caplog.text
    assert (learner.rows, again.receive(made[16], CONTRACT)) == (16, Status.ACCEPTED)


def test_rows_far_ahead_are_dropped_beyond_a_bound_and_taken_when_sent_again(tmp_path, monkeypatch):
    monkeypatch.setattr(inbox_module, "EARLY_ROWS", 2)
    inbox, learner = started(tmp_path)
    made = rows(5)
    assert receive(inbox, made[1:]) == [Status.EARLY, Status.EARLY, Status.DROPPED, Status.DROPPED]
    receive(inbox, made)
    assert (acks(inbox), learner.rows) == ({"s": 5}, 5)


@pytest.mark.parametrize("refused_at", [2, 3])
def test_a_full_disk_acknowledges_nothing_more_and_loses_nothing(tmp_path, refused_at):
    """At the row itself, and at an early one that its arrival has set free."""
    inbox, learner = started(tmp_path)
    made = rows(4)
    receive(inbox, [made[0], made[2]])
    size = (tmp_path / "000001.rlt").stat().st_size
    room = size + (100 if refused_at == 2 else 1700)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(JournalError, match="row not written"):
            inbox.receive(made[1], CONTRACT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert acks(inbox) == {"s": refused_at - 1}
    receive(inbox, made)
    assert (acks(inbox), learner.rows) == ({"s": 4}, 4)
    assert [entry.id for entry in Journal(tmp_path)] == [1, 2, 3, 4]
    assert not inbox._streams["s"].early


def test_the_newest_stream_of_each_robot_says_how_far_it_is(tmp_path):
    inbox, _ = started(tmp_path)
    receive(inbox, rows(3, stream="arm1/a") + rows(2, seed=1, stream="arm2/b") + rows(4, seed=2, stream="arm1/c")[:1])
    receive(inbox, rows(4, seed=2, stream="arm1/c")[2:])  # behind a gap
    assert inbox.newest == {"arm1/c": 1, "arm2/b": 2}

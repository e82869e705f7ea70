"""When learning happens, how much of it, and what is said about it."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.budget import Budget
from rlt_ros.rl.gate import Gate, Progress
from rlt_ros.rl.learner import Diverged, Learner
from rlt_ros.rl.rows import RowError
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.rl.turns import Turns
from rlt_ros.types import Label

REPOSITORY = Path(__file__).parents[2]


def learner(**changes) -> Learner:
    return Learner(small_config(**changes), DIMS, CONTRACT, 5.0)


def tensors_equal(a: Learner, b: Learner) -> bool:
    first, second = a.state()[0], b.state()[0]
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_each_new_row_earns_utd_updates_and_no_row_earns_none():
    subject = learner(utd=5)
    assert subject.add(rows(32)) == 32
    assert subject.train(10_000) == 160
    assert (subject.agent.critic_updates, subject.agent.actor_updates) == (160, 80)
    assert subject.train(10_000) == 0
    assert subject.add(rows(32)) == 0  # the same again
    assert subject.train(10_000) == 0
    assert subject.agent.critic_updates == 160


def test_nothing_is_learned_from_fewer_rows_than_two_batches_but_it_is_owed():
    subject = learner(batch=8, utd=2)
    subject.add(rows(15))
    assert (subject.train(100), subject.update_debt) == (0, 30)
    subject.add(rows(16)[15:])
    assert subject.train(100) == 32


def test_slices_requests_and_statistics_do_not_change_what_is_learned():
    at_once, sliced = learner(bc_pretrain_updates=20), learner(bc_pretrain_updates=20)
    at_once.add(rows(40))
    at_once.train(10_000)
    for row in rows(40):
        sliced.add([row])
    while sliced.train(7):
        sliced.stats()
        sliced.weights()
    assert at_once.agent.critic_updates == sliced.agent.critic_updates == 200
    assert tensors_equal(at_once, sliced)


def test_training_stops_when_told():
    subject = learner()
    subject.add(rows(32))
    answers = iter([False, False, False, True])
    assert subject.train(100, stop=lambda: next(answers)) == 3


def test_debt_is_capped_and_what_is_forgone_is_counted():
    budget = Budget(utd=5, cap=12)
    budget.earn(2)
    budget.earn(3)
    assert (budget.debt, budget.forgone) == (12, 13)
    assert [budget.spend() for _ in range(13)] == [True] * 12 + [False]
    assert budget.debt == 0


def test_the_backlog_is_capped_and_survives_a_restart():
    """method.md C.15: no catch-up of thousands of updates on the same rows, and none that is forgotten either."""
    subject, again = learner(max_debt=50, utd=5), learner(max_debt=50, utd=5)
    subject.add(rows(32))
    assert (subject.update_debt, subject.budget.forgone) == (50, 110)
    assert subject.train(20) == 20
    again.add(rows(32))
    again.load_state(*subject.state())
    assert (again.update_debt, again.budget.forgone) == (30, 110)
    assert again.train(1000) == 30


def test_warm_up_then_pretraining_then_critic_then_actor():
    subject = learner(warmup_episodes=3, warmup_rows=20, bc_pretrain_updates=30, actor_after=10, utd=1)
    subject.add(rows(23))  # two phases and seven rows of the third
    assert subject.train(1000) == 0
    subject.add(rows(24)[23:])
    assert subject.train(30) == 30
    assert (subject.agent.critic_updates, subject.agent.actor_updates) == (0, 0)
    assert subject.train(10) == 10
    assert (subject.agent.critic_updates, subject.agent.actor_updates) == (10, 0)
    assert subject.train(1000) == 14
    assert (subject.agent.critic_updates, subject.agent.actor_updates) == (24, 7)


def test_asking_what_is_due_changes_nothing():
    asked, other = (learner(bc_pretrain_updates=10, warmup_rows=20, utd=1, gate_reference_error=0.0) for _ in range(2))
    for row in rows(24):
        asked.add([row])
        assert asked.due_updates == (0 if row.id < 20 else row.id + 10)
    other.add(rows(24))
    assert asked.train(1000) == other.train(1000) == 34
    assert asked.due_updates == 0
    assert asked.state()[1] == other.state()[1]


def test_a_phase_is_open_until_its_last_row_has_come():
    subject = learner()
    for row in rows(9):
        subject.add([row])
        assert subject.phase_open is (row.id != 8)


def test_phases_of_several_robots_are_open_by_robot():
    subject = learner()
    subject.add(rows(3, stream="arm1/a"))
    subject.add(rows(8, seed=1, stream="arm2/b"))
    assert subject.phase_open
    assert subject.awaits("arm1/a") and not subject.awaits("arm2/b")
    # The actor was killed and its robot goes on with another stream.
    subject.add(rows(8, seed=2, stream="arm1/c"))
    assert not subject.phase_open and not subject.awaits("arm1/a")


def test_versions_continue_from_an_earlier_life():
    subject = learner()
    subject.continue_from(17)
    assert subject.weights().version == 18


def test_another_round_of_pretraining_waits_for_more_rows():
    subject = learner(bc_pretrain_updates=10, gate_reference_error=0.0, utd=0)
    subject.add(rows(16))
    assert subject.train(1000) == 10
    subject.add(rows(19)[16:])
    assert subject.train(1000) == 0
    subject.add(rows(20)[19:])
    assert subject.train(1000) == 10


def test_pretraining_brings_the_actor_to_the_reference_before_it_may_drive():
    subject = learner(
        bc_pretrain_updates=1500, gate_reference_error=0.02, hidden=64, learning_rate=2e-3, utd=0, reference_dropout=0.0
    )
    made = [replace(row, drivers=0 * row.drivers) for row in rows(16)]
    subject.add(made)
    assert "squared error to the reference inf, limit 0.02" in subject.gate.reason
    subject.train(10_000)
    assert subject.progress.pretrained_error < 0.02
    assert subject.gate.open and subject.gate.reason == ""


def complete(**changes) -> Progress:
    ready = Progress(rows=300, phases=20, successes=5, failures=15, critic_updates=1000, pretrained_error=0.01)
    return replace(ready, **changes)


def gate(**changes) -> Gate:
    limits = {
        "warmup_episodes": 20, "gate_rows": 300, "gate_updates": 1000, "gate_outcomes": "both",
        "bc_pretrain_updates": 1, "gate_reference_error": 0.02,
    }  # fmt: skip
    return Gate(small_config(**limits | changes))


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ({"rows": 299}, "rows 299 of 300"),
        ({"phases": 19}, "warm-up phases 19 of 20"),
        ({"critic_updates": 999}, "critic updates 999 of 1000"),
        ({"successes": 0}, "outcomes: 0 successes, 15 failures, both needed"),
        ({"failures": 0}, "outcomes: 5 successes, 0 failures, both needed"),
        ({"pretrained_error": 0.03}, "actor's squared error to the reference 0.03, limit 0.02"),
        ({"rows": 1, "phases": 2}, "warm-up phases 2 of 20; rows 1 of 300"),
    ],
)
def test_the_gate_names_what_it_waits_for(missing, reason):
    subject = gate()
    subject.update(complete(**missing))
    assert (subject.open, subject.reason) == (False, reason)


def test_one_outcome_or_none_is_enough_where_the_settings_say_so():
    for outcomes, seen, opens in (("one", 0, False), ("one", 3, True), ("none", 0, True)):
        subject = gate(gate_outcomes=outcomes)
        subject.update(complete(successes=seen, failures=0))
        assert subject.open is opens


def test_the_gate_once_open_stays_open():
    subject = gate()
    subject.update(complete())
    subject.update(Progress())
    assert (subject.open, subject.reason) == (True, "")


def test_outcomes_count_phases_and_not_rows():
    subject = learner()
    subject.add(rows(24))  # success, failure, success
    aborted = [replace(row, label=Label.ABORT, terminated=False) for row in rows(8, stream="t")]
    subject.add(aborted[:7])
    subject.add([replace(aborted[6], id=8, last_of_phase=True)])
    p = subject.progress
    assert (p.rows, p.phases, p.successes, p.failures) == (32, 4, 2, 1)


def test_a_bad_row_is_refused_after_the_good_ones_before_it():
    subject = learner()
    first, second = rows(2)
    with pytest.raises(RowError, match="valid_horizon"):
        subject.add([first, replace(second, valid_horizon=9)])
    assert (subject.rows, subject.update_debt) == (1, 5)


def test_weights_get_a_new_version_only_when_something_has_changed():
    subject = learner(actor_every=2)
    subject.add(rows(16))
    assert subject.weights().version == 1
    assert subject.weights() is subject.weights()
    subject.train(1)
    assert subject.weights().version == 1  # critics only
    subject.train(1)
    assert subject.weights().version == subject.weights_version == 2


def test_versions_start_above_those_that_have_driven():
    subject = learner()
    subject.add([replace(rows(1)[0], weights_version=41)])
    assert subject.weights().version == 42


def test_training_delays_neither_rows_nor_weight_requests_by_more_than_an_update():
    """A thread that asks is served between two updates, although training gives the lock up only for an instant."""
    subject = learner(utd=10_000, max_debt=10**6)
    subject.add(rows(32))
    started, stop = threading.Event(), threading.Event()

    def told() -> bool:
        started.set()
        return stop.is_set()

    thread = threading.Thread(target=lambda: subject.train(10**6, told))
    thread.start()
    try:
        assert started.wait(10)
        waited = []
        for row in rows(62)[32:]:
            before = subject.agent.critic_updates
            subject.add([row])
            subject.weights()
            waited.append(subject.agent.critic_updates - before)
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join()
    assert sorted(waited)[len(waited) // 2] <= 4  # two turns, the one under way and the one that follows each


def test_turns_are_taken_in_order():
    turns, order, ready = Turns(), [], [threading.Event() for _ in range(5)]

    def take(i: int) -> None:
        with turns:
            order.append(i)

    threads = [threading.Thread(target=take, args=(i,)) for i in range(5)]
    with turns:
        for i, thread in enumerate(threads):
            thread.start()
            while len(turns._waiting) <= i:
                ready[i].wait(0.001)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    with turns:
        pass


def test_statistics_have_the_fields_of_the_message():
    text = (REPOSITORY / "msg" / "LearnerStats.msg").read_text()
    declared = re.findall(r"^(?!std_msgs|#)\S+ (\w+)", text, re.MULTILINE)
    receipt = ["streams", "stream_rows"]  # from the node, which alone knows its robots
    assert [f.name for f in fields(LearnerStats)] + receipt == [name for name in declared if not name.isupper()]


def test_statistics_before_anything_is_known():
    stats = learner().stats(duplicates=2, refused=3)
    assert (stats.rows, stats.duplicates, stats.refused, stats.alarm_q, stats.human_rate) == (0, 2, 3, 0.0, 0.0)
    assert math.isnan(stats.critic_loss) and math.isnan(stats.reference_error)


def test_statistics_tell_the_truth():
    subject = learner(hidden=32)
    subject.add(rows(64))
    subject.train(1000)
    stats = subject.stats()
    assert stats.critic_updates == 320 and stats.actor_updates == 160 and stats.update_debt == 0
    assert stats.reference_error < stats.reference_error_dropped
    assert 0.0 < stats.residual_mm < 5.0 * 2 * math.sqrt(2)
    assert stats.q_action_sensitivity > 0.0
    assert 0.2 < stats.human_rate < 0.5
    assert math.isfinite(stats.actor_loss) and math.isfinite(stats.bc_loss)


def set_q(subject: Learner, value: float) -> None:
    with torch.no_grad():
        subject.agent.critic.head_weight.zero_()
        subject.agent.critic.head_bias.fill_(value)


def test_q_is_compared_with_the_return_that_was_earned():
    subject = learner()
    failures = [replace(row, label=Label.FAILURE, rewards=0 * row.rewards) for row in rows(32)]
    aborted = [replace(row, label=Label.ABORT, terminated=False) for row in rows(7, stream="t")]  # of no known return
    subject.add(failures + aborted)
    set_q(subject, 0.25)
    assert subject.stats().q_return_error == pytest.approx(0.25)


def test_q_without_influence_of_the_action_shows():
    subject = learner()
    subject.add(rows(32))
    with torch.no_grad():
        subject.agent.critic.action_weight.zero_()
    assert subject.stats().q_action_sensitivity == pytest.approx(0.0, abs=1e-6)


def test_update_rate_uses_the_given_clock():
    times = iter([0.0, 4.0, 6.0])
    subject = Learner(small_config(), DIMS, CONTRACT, 5.0, clock=lambda: next(times))
    subject.add(rows(16))
    subject.train(40)
    assert subject.stats().updates_per_second == 10.0
    assert subject.stats().updates_per_second == 0.0


def test_a_loss_that_is_not_finite_stops_training_loudly():
    subject = learner()
    subject.add(rows(16))
    with torch.no_grad():
        subject.agent.critic.head_bias.fill_(math.nan)
    with pytest.raises(Diverged, match="critic_loss is nan at critic update 1"):
        subject.train(10)

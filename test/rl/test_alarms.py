"""Every alarm is raised by its fault, in a learner that really has it, and by nothing in one that has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from faults import LIMITS, failure_rewarded, recorded, trained, unseen, without_reward
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.alarms import CHECKS, AlarmLimits, AlarmNews, Alarms, raised
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner
from rlt_ros.types import Transition


@pytest.fixture(scope="module")
def phases() -> list[Transition]:
    return recorded()


@pytest.mark.parametrize("seed", [2, 3])
def test_no_alarm_without_a_fault(phases, seed):
    learner = trained(phases, seed=seed)
    stats = learner.stats()
    assert raised(stats) == [] and stats.alarms == "" and learner.alarms == {}


def test_alarm_when_rewards_are_lost(phases):
    learner = trained([without_reward(row) for row in phases])
    assert learner.stats().alarm_q_return == 1.0
    assert "below the Monte-Carlo return" in learner.alarms["alarm_q_return"]
    assert "carries the reward" in learner.alarms["alarm_q_return"]


def test_alarm_when_failures_are_rewarded(phases):
    learner = trained([failure_rewarded(row) for row in phases], updates=900)
    assert learner.stats().alarm_q_return == 1.0
    assert "Q exceeds the Monte-Carlo return by 0.5" in learner.alarms["alarm_q_return"]
    assert "(limit 0.45" in learner.alarms["alarm_q_return"]


def test_alarm_when_the_state_shows_nothing_and_the_actor_copies(phases):
    stats = trained([unseen(row) for row in phases], bc_beta=100.0, reference_dropout=0.05, updates=900).stats()
    assert stats.alarm_copy == 1.0
    assert "raise reference_dropout" in stats.alarms


@pytest.mark.parametrize(("beta", "alarm"), [(0.1, 0.0), (100.0, 1.0)])
def test_alarm_when_the_actor_has_become_the_reference(phases, beta, alarm):
    # So small an actor does not learn to copy to 2 % in a few seconds.
    limits = replace(LIMITS, alarm_copy_residual=0.15)
    learner = trained(phases, limits=limits, bc_beta=beta, reference_dropout=0.0)
    assert learner.stats().alarm_copy == alarm
    assert ("apart (expected above 0.15" in learner.alarms.get("alarm_copy", "")) == alarm


def test_alarm_without_exploration():
    stats = trained(recorded(noise=0.0), rollout_noise=0.0).stats()
    assert stats.alarm_action == 1.0 and "raise rollout_noise" in stats.alarms


def test_alarm_when_the_critics_are_blind_to_the_action(phases):
    learner = trained(phases)
    assert learner.stats().alarm_action == 0.0
    with torch.no_grad():
        learner.agent.critic.action_weight.zero_()
    assert learner.stats().alarm_action == 1.0


@pytest.mark.parametrize(("beta", "text"), [(100.0, "BC outweighs Q"), (1e-4, "Q outweighs BC"), (0.0, "Q outweighs")])
def test_alarm_when_weights_are_out_of_proportion(phases, beta, text):
    learner = trained(phases, bc_beta=beta)
    assert learner.stats().alarm_weights == 1.0
    assert text in learner.alarms["alarm_weights"]


def test_alarm_when_the_actor_is_torn_from_the_reference(phases):
    learner = trained(phases, learning_rate=1.0)
    learner.stats()
    assert "of the action range away from the reference" in learner.alarms["alarm_weights"]


def test_alarm_when_the_critics_diverge(phases):
    learner = trained(phases, learning_rate=10.0)
    assert learner.stats().alarm_q == 1.0
    assert "outside the reachable return [0, 1]" in learner.alarms["alarm_q"]


def test_alarm_when_updates_run_ahead_of_the_rows(phases):
    subject = Learner(small_config(utd=40), DIMS, CONTRACT, 5.0, limits=LIMITS)
    subject.add(rows(32))
    assert subject.train(32 * 20) and subject.stats().alarm_rows == 0.0
    assert subject.train(32) and subject.stats().alarm_rows == 1.0
    assert "21 critic updates per row (limit 20" in subject.alarms["alarm_rows"]


def test_alarm_when_no_rows_come_any_more():
    times = iter([0.0, 10.0, 600.0, 611.0, 612.0])
    subject = Learner(small_config(), DIMS, CONTRACT, 5.0, lambda: next(times), limits=AlarmLimits(alarm_min_updates=1))
    subject.add(rows(32))
    subject.train(1000)
    assert [subject.stats().alarm_rows for _ in range(3)] == [0.0, 0.0, 1.0]
    assert "none for 601 s" in subject.alarms["alarm_rows"]
    subject.add(rows(33)[32:])
    assert subject.stats().alarm_rows == 0.0


@pytest.mark.parametrize(("q", "alarm"), [(1.04, 0.0), (1.06, 1.0), (-0.04, 0.0), (-0.06, 1.0)])
def test_alarm_when_q_leaves_the_reachable_return(phases, q, alarm):
    subject = Learner(small_config(), DIMS, CONTRACT, 5.0, limits=AlarmLimits(alarm_min_updates=1))
    subject.add(rows(64))
    subject.train(1)
    with torch.no_grad():
        subject.agent.critic.head_weight.zero_()
        subject.agent.critic.head_bias.fill_(q)
    assert subject.stats().alarm_q == alarm


def test_no_alarm_before_the_critics_have_had_their_time(phases):
    learner = trained([without_reward(row) for row in phases], updates=LIMITS.alarm_min_updates - 1)
    assert raised(learner.stats()) == []


def test_an_alarm_holds_until_its_figure_is_well_within_the_limit(phases):
    config, stats = AgentConfig(), trained(phases).stats()
    alarms = Alarms(LIMITS)
    figures = (0.44, 0.46, 0.44, 0.37, 0.35, 0.44)
    seen = [alarms.look(replace(stats, q_return_error=value), config).alarm_q_return for value in figures]
    assert seen == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    alarms.look(replace(stats, q_return_error=0.46), config)
    assert "over at 80% of the limit" in alarms.look(replace(stats, q_return_error=0.4), config).alarms


def test_critics_that_cannot_tell_rows_apart_raise_the_alarm(phases):
    config, stats = AgentConfig(), trained(phases).stats()
    for correlation, alarm in ((0.31, 0.0), (0.29, 1.0), (-0.5, 1.0), (float("nan"), 0.0)):
        assert Alarms(LIMITS).look(replace(stats, q_return_correlation=correlation), config).alarm_q_return == alarm


def test_an_alarm_is_told_once_and_once_when_it_is_over():
    news = AlarmNews()
    assert news.since({"alarm_q": "too high"}) == (["alarm_q: too high"], [])
    assert news.since({"alarm_q": "too high by now"}) == ([], [])
    assert news.since({"alarm_rows": "none"}) == (["alarm_rows: none"], ["alarm_q: cleared"])
    assert news.since({}) == ([], ["alarm_rows: cleared"])


def test_every_alarm_is_a_field_of_the_statistics():
    stats = Learner(small_config(), DIMS, CONTRACT, 5.0).stats()
    assert all(hasattr(stats, name) for name in CHECKS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"alarm_clear": 1.5}, "alarm_clear is 1.5"), ({"alarm_silence": -1.0}, "alarm_silence is -1.0")],
)
def test_impossible_limits_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        AlarmLimits(**changes)

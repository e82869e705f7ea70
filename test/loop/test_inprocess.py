"""The whole loop on a tiny world: the order of events, what is learned from, honest figures, the same twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from point_world import PointLearner, PointOperator, parts

from rlt_ros.loop.inprocess import InProcess
from rlt_ros.loop.parts import Parts
from rlt_ros.loop.session import SessionConfig
from rlt_ros.types import Driver, Label

CONFIG = SessionConfig(
    practice_minutes=1.0, control_rate=20.0, eval_episodes=5, warmup_episodes=3, time_limit=40, seed=1
)


def ran(made: Parts | None = None, config: SessionConfig = CONFIG) -> tuple[InProcess, dict]:
    loop = InProcess(made or parts(), config)
    return loop, loop.run()


@pytest.fixture(scope="module")
def finished() -> tuple[InProcess, dict]:
    return ran()


def test_the_learned_actor_beats_the_base_on_the_same_start_states(finished) -> None:
    loop, summary = finished
    assert summary["base"]["episodes"] == summary["base_with_noise"]["episodes"] == summary["final"]["episodes"] == 5
    assert summary["base"]["successes"] < 5
    assert summary["final"]["successes"] == 5
    assert summary["final"]["mean_steps"] < summary["base"]["mean_steps"]
    seeds = loop._parts.world.seeds[-15:]
    assert seeds[:5] == seeds[5:10] == seeds[10:]


def test_practice_lasts_its_robot_time_and_only_practice_is_learned_from(finished) -> None:
    loop, summary = finished
    learner = loop._parts.learner
    assert 1200 <= loop.session.progress.practice_steps < 1250
    assert summary["transitions"] == {"published": len(learner.rows), "received": len(learner.rows)}
    assert len({row.id for row in learner.rows}) == len(learner.rows)
    assert len({row.phase_id for row in learner.rows}) == loop.session.practice["episodes"]
    assert loop.outbox.pending == 0
    assert set(summary["rows_dropped"]) == {"unrecorded"}


def test_learning_happens_between_episodes_and_before_the_next_weights(finished) -> None:
    log = finished[0]._parts.learner.log
    assert log[:3] == ["add", f"train {int(log[1].split()[1])}", "weights"]
    assert log.count("add") == finished[0].session.practice["episodes"]


def test_the_vla_drives_until_the_gate_opens_then_the_actor(finished) -> None:
    rows = finished[0]._parts.learner.rows
    drivers = [int(row.drivers[0]) for row in rows]
    first = drivers.index(Driver.ACTOR)
    assert first >= 60 and set(drivers[:first]) == {Driver.VLA} and set(drivers[first:]) == {Driver.ACTOR}
    assert all(row.weights_version == 0 for row in rows[:first])
    assert rows[-1].weights_version > 0


def test_one_decision_per_chunk_and_one_pass_per_observation(finished) -> None:
    passes = finished[0]._parts.extractor.passes
    assert len(passes) == len(set(passes))


def test_every_row_is_what_was_executed(finished) -> None:
    """Practice explores: the stored action is the noisy one, and following it from row to row closes the loop."""
    for row in finished[0]._parts.learner.rows:
        assert np.abs(row.actions[: row.valid_horizon, :6]).max() <= 1.0 + 1e-5
        assert (row.actions[: row.valid_horizon, 6] == -1.0).all()
        assert row.label in (Label.SUCCESS, Label.FAILURE)


def test_the_phase_begins_at_a_chunk_boundary(finished) -> None:
    """The operator presses after 3 steps; the chunk that runs is finished first."""
    assert {row.step for row in finished[0]._parts.learner.rows if row.features} >= {10}
    assert min(row.step for row in finished[0]._parts.learner.rows) == 10


def test_same_seed_same_run() -> None:
    short = replace(CONFIG, practice_minutes=0.3, eval_episodes=1)
    (first, one), (second, two) = ran(config=short), ran(config=short)
    for a, b in zip(first._parts.learner.rows, second._parts.learner.rows, strict=True):
        np.testing.assert_array_equal(a.actions, b.actions)
    assert {**one, "wall_time_s": 0} == {**two, "wall_time_s": 0}
    other, _ = ran(config=replace(short, seed=2))
    assert (other._parts.learner.rows[0].actions != first._parts.learner.rows[0].actions).any()


def test_help_is_learned_from_in_practice_and_spoils_nothing_else() -> None:
    learner = PointLearner(gate_rows=10**6)
    short = replace(CONFIG, practice_minutes=0.2, eval_episodes=0)
    loop, _ = ran(parts(PointOperator(helps=True), learner), short)
    helped = [row for row in learner.rows if (row.drivers == Driver.HUMAN).any()]
    assert helped and loop.session.practice["successes"] == loop.session.practice["episodes"]
    assert not any(row.rewards.sum() and not row.terminated for row in learner.rows)


def test_without_practice_the_final_actor_is_the_base() -> None:
    _, summary = ran(config=replace(CONFIG, practice_minutes=0.0))
    assert summary["final"] == summary["base"]
    assert summary["transitions"]["published"] == 0 and summary["weights"] == {"published": 0, "applied": 0}

"""Rows of a labelled phase. Field reports A03, A05, A08, A30, A32; method.md C.1 (3, 4, 6 to 9), C.5 (39, 40)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_parts import chunk, executed, features, mode, stamp

from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.windows import Assembly, WindowAssembler
from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label, Mode, Transition

FIRST = 101


def steps(length: int, first: int = FIRST, phase_id: int = 1) -> list[ExecutedStep]:
    return [executed(first + i, Driver.ACTOR, phase_id, step=40 + i) for i in range(length)]


def event(length: int, label: Label = Label.SUCCESS, first: int = FIRST, phase_id: int = 1) -> EpisodeEvent:
    return EpisodeEvent(first + length, stamp(first + length), 1, phase_id, label)


def assemble(
    phase: list[ExecutedStep], label: Label = Label.SUCCESS, assembler: WindowAssembler | None = None
) -> Assembly:
    assembler = assembler or WindowAssembler(10)
    for step in phase:
        assembler.executed(step)
    first, phase_id = phase[0].observation_id, phase[0].phase_id
    end = phase[-1].observation_id + 1
    for i in range(first, end + 1):
        assembler.features(features(i))
    return assembler.finish(EpisodeEvent(end, stamp(end), 1, phase_id, label))


def discounted(row: Transition, gamma: float = 0.99) -> float:
    return float(np.sum(gamma ** np.arange(len(row.rewards)) * row.rewards))


@given(st.integers(2, 60), st.sampled_from([Label.SUCCESS, Label.FAILURE, Label.ABORT]))
def test_every_row_of_a_phase(length: int, label: Label) -> None:
    rows = assemble(steps(length), label).rows
    assert [r.features_id - FIRST for r in rows] == list(range(0, length - 1, 2))
    for row in rows:
        start = row.features_id - FIRST
        assert row.valid_horizon == min(10, length - start)
        assert row.steps_to_end == length - start
        assert row.step == 40 + start
        ends = start + row.valid_horizon == length
        assert row.terminated == (ends and label is not Label.ABORT)
        assert row.truncated == (ends and label is Label.ABORT)
        assert row.next_features_id == (0 if row.terminated else row.features_id + row.valid_horizon)
        assert row.rewards.sum() == (1.0 if ends and label is Label.SUCCESS else 0.0)
        assert discounted(row) == pytest.approx(0.99 ** (row.valid_horizon - 1) if row.rewards.any() else 0.0)
        valid = [(row.features_id + i) / 1000 for i in range(row.valid_horizon)]
        np.testing.assert_allclose(row.actions[: row.valid_horizon, 0], valid, rtol=1e-6)
        assert not row.actions[row.valid_horizon :].any() and not row.drivers[row.valid_horizon :].any()
        assert (row.drivers[: row.valid_horizon] == Driver.ACTOR).all()
        assert row.actions.dtype == row.rewards.dtype == np.float32 and row.drivers.dtype == np.uint8


@given(st.integers(2, 60), st.sampled_from([Label.SUCCESS, Label.FAILURE, Label.ABORT]))
def test_features_are_carried_once_and_by_a_row_that_names_them(length: int, label: Label) -> None:
    carried: list[int] = []
    for row in assemble(steps(length), label).rows:
        mine = [f.id for f in row.features]
        assert set(mine) <= {row.features_id, row.next_features_id}
        assert {row.features_id, row.next_features_id} - {0} <= set(carried) | set(mine)
        carried += mine
    assert len(carried) == len(set(carried))


def test_the_next_features_are_exactly_those_at_the_end_of_the_window() -> None:
    rows = assemble(steps(25)).rows
    held = {f.id: f for row in rows for f in row.features}
    for row in rows:
        if not row.terminated:
            assert held[row.next_features_id].z[0] == row.features_id + 10


def test_a_success_pays_on_the_last_executed_step_in_every_window_that_contains_it() -> None:
    rows = assemble(steps(23)).rows
    paid = [r for r in rows if r.rewards.any()]
    assert [r.features_id - FIRST for r in paid] == [14, 16, 18, 20]
    assert all(r.rewards[r.valid_horizon - 1] == 1.0 and r.features_id + r.valid_horizon == FIRST + 23 for r in paid)


def test_a_failure_terminates_with_nothing_and_an_abort_bootstraps_from_the_true_last_observation() -> None:
    failed = assemble(steps(12), Label.FAILURE).rows
    assert any(r.terminated for r in failed) and not any(r.rewards.any() for r in failed)
    aborted = assemble(steps(12), Label.ABORT).rows
    ends = [r for r in aborted if r.truncated]
    assert ends and all(r.next_features_id == FIRST + 12 and not r.terminated for r in ends)


def test_an_outcome_is_seen_where_that_is_asked_for() -> None:
    """The observation after it is missing until its features come, and carried by the first row that names it."""
    assembler = WindowAssembler(10, LoopConfig(outcome_seen=True))
    for step in steps(12):
        assembler.executed(step)
    for i in range(FIRST, FIRST + 12):
        assembler.features(features(i))
    assert assembler.finish(event(12)).missing == [FIRST + 12]
    assembler.features(features(FIRST + 12))
    ends = [row for row in assembler.finish(event(12)).rows if row.terminated]
    assert [row.next_features_id for row in ends] == [FIRST + 12] * 5
    assert sum(f.id == FIRST + 12 for row in ends for f in row.features) == 1


def test_who_drove_is_kept_step_by_step() -> None:
    """A03: a person on steps 4 to 7."""
    phase = steps(12)
    for i in range(4, 8):
        phase[i] = executed(FIRST + i, Driver.HUMAN, step=40 + i, action=np.full(7, -0.2, np.float32))
    row = assemble(phase).rows[0]
    assert row.drivers.tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 1, 1]
    np.testing.assert_allclose(row.actions[4:8], -0.2)


def test_windows_with_a_hold_are_dropped_and_counted() -> None:
    phase = steps(24)
    phase[11] = executed(FIRST + 11, Driver.HOLD, step=51)
    assembly = assemble(phase)
    assert [r.features_id - FIRST for r in assembly.rows] == [0, 12, 14, 16, 18, 20, 22]
    assert assembly.dropped == {"hold": 5}


def test_windows_across_a_missing_step_are_dropped_and_counted() -> None:
    phase = steps(24)
    del phase[11]
    assembly = assemble(phase)
    assert assembly.dropped["gap"] > 0
    for row in assembly.rows:
        taken = range(row.features_id, row.features_id + row.valid_horizon)
        assert FIRST + 11 not in taken
        ends = row.features_id + row.valid_horizon
        assert (row.next_features_id or FIRST + 24) == ends


def test_a_lost_last_step_never_pays_the_step_before() -> None:
    assembler = WindowAssembler(10)
    for step in steps(12)[:-1]:
        assembler.executed(step)
    for i in range(FIRST, FIRST + 13):
        assembler.features(features(i))
    rows = assembler.finish(event(12)).rows
    assert not any(row.rewards.any() or row.terminated for row in rows)


def test_a_discarded_phase_leaves_nothing() -> None:
    assembly = assemble(steps(20), Label.DISCARD)
    assert assembly.rows == [] and assembly.missing == [] and assembly.dropped == {"discarded": 10}


@pytest.mark.parametrize("length", [0, 1])
def test_a_phase_that_is_too_short_is_reported(length: int) -> None:
    assembler = WindowAssembler(10)
    for step in steps(length):
        assembler.executed(step)
    assert assembler.finish(event(length)).dropped == {"short": 1}
    assert assembler.dropped == 1


def test_missing_features_are_named_and_nothing_is_lost_meanwhile() -> None:
    assembler, phase = WindowAssembler(10), steps(14)
    for step in phase:
        assembler.executed(step)
    for i in range(0, 14, 2):
        if i != 6:
            assembler.features(features(FIRST + i))
    assembly = assembler.finish(event(14))
    assert assembly.missing == [FIRST + 6] and assembly.rows == []
    assembler.features(features(FIRST + 6))
    assert len(assembler.finish(event(14)).rows) == 7


def test_giving_up_on_features_drops_only_the_rows_that_need_them() -> None:
    assembler = WindowAssembler(10)
    for step in steps(14):
        assembler.executed(step)
    for i in range(2, 14, 2):
        assembler.features(features(FIRST + i))
    assembly = assembler.give_up(event(14))
    assert len(assembly.rows) == 6 and assembly.dropped == {"features": 1}


def test_steps_after_the_label_do_not_count() -> None:
    """In real time the executor may drive on for a step before it hears of the label."""
    assembler = WindowAssembler(10)
    for step in steps(15):
        assembler.executed(step)
    for i in range(FIRST, FIRST + 16):
        assembler.features(features(i))
    assert assembler.finish(event(12)).rows[0].steps_to_end == 12


def test_repeated_steps_count_once_and_steps_outside_a_phase_not_at_all() -> None:
    phase = [step for step in steps(12) for _ in range(2)]
    assert assemble(phase).rows[0].steps_to_end == 12
    assembler = WindowAssembler(10)
    for i in range(90, FIRST):
        assembler.executed(executed(i, phase_id=0))
    assert assemble(steps(12), assembler=assembler).rows[0].steps_to_end == 12


def test_two_phases_never_mix() -> None:
    """A05: exactly one end per episode, no row joins two."""
    assembler = WindowAssembler(10)
    rows = assemble(steps(13), assembler=assembler).rows + assemble(steps(17, 201, 2), assembler=assembler).rows
    for row in rows:
        assert row.features_id // 100 == row.phase_id
        assert row.next_features_id == 0 or row.next_features_id // 100 == row.phase_id
    for phase_id, last in ((1, FIRST + 13), (2, 218)):
        ends = {r.features_id + r.valid_horizon for r in rows if r.phase_id == phase_id and r.terminated}
        assert ends == {last}


@pytest.mark.parametrize(("late", "dropped"), [(2, 0), (3, 5), (-200, 5)])
def test_no_row_spans_a_time_without_observations(late: int, dropped: int) -> None:
    """Observations failed to come and the arm held, or the clock was set: ids and steps go on all the same."""
    phase = steps(20)
    phase = phase[:9] + [replace(s, stamp=s.stamp + late * 50_000_000) for s in phase[9:]]
    assembler = WindowAssembler(10)
    for step in phase:
        assembler.executed(step)
    for i in range(FIRST, FIRST + 21):
        assembler.features(features(i))
    assembly = assembler.finish(EpisodeEvent(FIRST + 20, stamp(FIRST + 20 + late), 1, 1, Label.SUCCESS))
    assert assembly.dropped == ({"gap": dropped} if dropped else {})
    spans = [range(r.features_id - FIRST, r.features_id - FIRST + r.valid_horizon + 1) for r in assembly.rows]
    assert not dropped or not any(8 in span and 9 in span for span in spans)


@pytest.mark.parametrize(("label", "rows"), [(Label.ABORT, [0]), (Label.SUCCESS, [0, 2, 4, 6, 8, 10])])
def test_what_was_cut_short_long_after_its_last_step_ends_without_it(label: Label, rows: list[int]) -> None:
    phase, assembler = steps(12), WindowAssembler(10)
    for step in phase:
        assembler.executed(step)
    for i in range(FIRST, FIRST + 13):
        assembler.features(features(i))
    late = EpisodeEvent(FIRST + 12, stamp(FIRST + 12) + 10**9, 1, 1, label)
    assert [r.features_id - FIRST for r in assembler.finish(late).rows] == rows


def test_evaluation_phases_are_not_recorded() -> None:
    assembler = WindowAssembler(10)
    assembler.mode(mode(FIRST, Mode.RL, phase_id=1, evaluation=True, record=False))
    assert assemble(steps(12), assembler=assembler).dropped == {"unrecorded": 6}


def test_rows_name_the_weights_that_drove_their_first_step() -> None:
    assembler = WindowAssembler(10)
    assembler.chunk(chunk(FIRST, driver=Driver.ACTOR))
    phase = [executed(FIRST + i, Driver.ACTOR, step=40 + i, chunk_id=FIRST if i < 10 else 7) for i in range(14)]
    assert [r.weights_version for r in assemble(phase, assembler=assembler).rows] == [3] * 5 + [0] * 2


def approach(length: int, first: int = FIRST) -> list[ExecutedStep]:
    """Steps of the VLA since the reset, up to the first one of the phase."""
    return [executed(first - length + i, phase_id=0, step=40 - length + i) for i in range(length)]


def test_rows_may_begin_at_the_reset() -> None:
    assembler = WindowAssembler(10, LoopConfig(store_from="approach"))
    for step in [*approach(30), executed(FIRST - 13, Driver.RESET, phase_id=0, reset_done=True), *approach(12)]:
        assembler.executed(step)
    for i in range(FIRST - 13, FIRST):
        assembler.features(features(i))
    rows = assemble(steps(15), assembler=assembler).rows
    assert [row.features_id - FIRST for row in rows] == list(range(-12, 14, 2))
    assert [row.steps_to_end for row in rows] == list(range(27, 1, -2))
    assert rows[0].drivers.tolist() == [Driver.VLA] * 10
    assert rows[2].drivers.tolist() == [Driver.VLA] * 8 + [Driver.ACTOR] * 2
    assert [row.terminated for row in rows].count(True) == 4 and {row.phase_id for row in rows} == {1}


def test_an_approach_belongs_to_one_phase_and_by_default_to_none() -> None:
    for config, first in ((LoopConfig(store_from="approach"), -6), (LoopConfig(), 0)):
        assembler = WindowAssembler(10, config)
        for step in approach(6):
            assembler.executed(step)
        for i in range(FIRST - 6, FIRST):
            assembler.features(features(i))
        assert assemble(steps(12), assembler=assembler).rows[0].features_id - FIRST == first
        second = assemble(steps(12, 201, 2), assembler=assembler).rows
        assert second[0].features_id == 201


def test_a_hold_in_the_approach_costs_only_the_windows_that_contain_it() -> None:
    assembler = WindowAssembler(10, LoopConfig(store_from="approach"))
    before = approach(6)
    before[0] = executed(FIRST - 6, Driver.HOLD, phase_id=0, step=34)
    for step in before:
        assembler.executed(step)
    for i in range(FIRST - 6, FIRST):
        assembler.features(features(i))
    assembly = assemble(steps(12), assembler=assembler)
    assert assembly.rows[0].features_id == FIRST - 4 and assembly.dropped == {"hold": 1}


@given(st.integers(2, 60), st.sampled_from([1, 2, 3]))
def test_whole_windows_are_aligned_to_the_end(length: int, stride: int) -> None:
    assembly = assemble(steps(length), assembler=WindowAssembler(10, LoopConfig(short_windows=False, stride=stride)))
    if length < 10:
        assert assembly.rows == [] and assembly.dropped == {"short": 1}
        return
    starts = [row.features_id - FIRST for row in assembly.rows]
    assert starts[-1] == length - 10 and starts[0] < stride and set(np.diff(starts)) <= {stride}
    assert all(row.valid_horizon == 10 for row in assembly.rows)
    assert [row.rewards.any() for row in assembly.rows] == [False] * (len(starts) - 1) + [True]
    assert assembly.rows[-1].terminated and assembly.rows[-1].rewards[9] == 1.0


def test_settings_of_windows_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="store_from is 'start'; expected one of critical, approach"):
        LoopConfig(store_from="start")
    with pytest.raises(ValueError, match="stride 0"):
        LoopConfig(stride=0)


def test_the_learner_accepts_the_rows() -> None:
    rows_module = pytest.importorskip("rlt_ros.rl.rows")
    from rlt_ros.rl.config import Dims

    spec = rows_module.RowSpec(10, Dims(z=4))
    for label in (Label.SUCCESS, Label.FAILURE, Label.ABORT):
        for row in assemble(steps(23), label).rows:
            spec.check(row)

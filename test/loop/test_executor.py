"""Who drives, from where, and what is written down. Field reports A01, A02, A06, A29, B06, B41, B42."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loop_parts import CENTRE, PERIOD, ROBOT, chunk, mode, stamp, state

from rlt_ros.loop.chunks import ChunkRefused, StaleChunk
from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.human import HumanCommand
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode
from rlt_ros.types import Driver, Mode, Phase, PolicyMode

STEP = ROBOT.action_scale.translation


def made(lockstep: bool = True, anchor: str = "last_target") -> ChunkExecutor:
    return ChunkExecutor(replace(ROBOT, anchor=anchor), chunk=10, lockstep=lockstep)


def step(
    executor: ChunkExecutor, i: int, word: PolicyMode | None = None, at: np.ndarray = CENTRE, **rest: object
) -> StepResult | None:
    measured = rest.pop("measured", None) or state(i, at)
    if not executor.sightings.saw(i, stamp(i)):
        executor.observe(i, stamp(i))
    return executor.step(i, stamp(i), 1, i, measured, word or mode(i), **rest)


def human(i: int, value: float = -0.2, observation_id: int | None = None) -> HumanCommand:
    return HumanCommand(i if observation_id is None else observation_id, stamp(i), np.array([value] * 6 + [-1.0]))


def test_lockstep_waits_for_the_chunk_of_this_observation() -> None:
    executor = made()
    assert step(executor, 1) is None
    executor.offer(chunk(1))
    result = step(executor, 1)
    done = result.executed
    assert (done.driver, done.chunk_id, done.chunk_index, done.remaining) == (Driver.VLA, 1, 0, 9)
    np.testing.assert_allclose(result.target.position, CENTRE + 0.5 * STEP, atol=1e-12)
    np.testing.assert_allclose(done.action, [0.5] * 6 + [-1.0], atol=1e-6)


def test_lockstep_waits_for_the_word_about_this_observation() -> None:
    executor = made()
    executor.offer(chunk(1))
    assert step(executor, 2, mode(1)) is None
    assert step(executor, 2, mode(2)).executed.driver is Driver.VLA


def test_a_repeated_observation_gets_the_same_answer() -> None:
    executor = made()
    executor.offer(chunk(1))
    first = step(executor, 1)
    assert step(executor, 1) is first
    assert step(executor, 2).executed.chunk_index == 1
    assert step(executor, 1) is first
    for i in range(3, 100):
        step(executor, i, mode(i, Mode.HOLD))
    with pytest.raises(ValueError, match="observation 1 came after observation 99"):
        step(executor, 1)


def test_deltas_start_from_the_last_target_and_the_leash_holds_it_back() -> None:
    executor = made()
    executor.offer(chunk(1, value=1.0))
    at, reached = CENTRE, []
    for i in range(1, 5):
        result = step(executor, i, at=at)
        reached.append(result.target.position[0] - CENTRE[0])
    assert reached[0] == pytest.approx(STEP)
    leash = ROBOT.limits.leash_translation / np.sqrt(3.0)
    assert reached[1:] == pytest.approx([leash] * 3)
    assert result.executed.sent[0] == pytest.approx(0.0, abs=1e-6), "what was sent is said (A02)"
    assert result.executed.action[0] == pytest.approx(1.0), "what is learned from is what was asked for"
    assert result.notes[0].startswith("leash")


def test_measured_anchor() -> None:
    executor = made(anchor="measured")
    executor.offer(chunk(1))
    step(executor, 1)
    np.testing.assert_allclose(step(executor, 2).target.position, CENTRE + 0.5 * STEP, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_chunk_moves_nothing_and_the_next_good_one_works(bad: float) -> None:
    executor = made()
    executor.offer(chunk(1))
    last = [step(executor, i) for i in range(1, 11)][-1].target
    broken = chunk(11)
    broken.actions[3, 2] = bad
    with pytest.raises(ChunkRefused, match=r"\[3, 2\]"):
        executor.offer(broken)
    held = step(executor, 11, at=last.position)
    assert held.executed.driver is Driver.HOLD and r"[3, 2]" in held.executed.reason
    np.testing.assert_array_equal(held.target.position, last.position)
    assert executor.counts["refused"] == 1
    executor.offer(chunk(12))
    assert step(executor, 12, at=last.position).executed.driver is Driver.VLA


def test_lockstep_can_be_told_that_no_chunk_will_come() -> None:
    executor = made()
    executor.skip(1, "no features")
    assert step(executor, 1).executed.reason == "no features"
    assert step(executor, 2) is None


def test_real_time_starves_into_a_hold_and_starts_late_chunks_in_step() -> None:
    executor = made(lockstep=False)
    assert step(executor, 1, patient=True) is None
    first = step(executor, 1)
    assert first.executed.driver is Driver.HOLD and first.executed.reason.startswith("starved")
    executor.offer(chunk(1))
    assert step(executor, 2).executed.chunk_index == 0
    for i in range(3, 6):
        step(executor, i)
    executor.offer(chunk(4))
    rows = [step(executor, i).executed for i in range(6, 14)]
    assert [(r.chunk_id, r.chunk_index) for r in rows[5:]] == [(1, 9), (4, 8), (4, 9)]


def test_a_stop_acts_at_once_and_never_moves() -> None:
    executor = made()
    executor.offer(chunk(1))
    moved = step(executor, 1)
    held = [step(executor, i, mode(i, Mode.HOLD)) for i in (2, 3)]
    for result in held:
        assert result.executed.driver is Driver.HOLD and result.executed.commanded
        np.testing.assert_array_equal(result.target.position, moved.target.position)
        np.testing.assert_array_equal(result.executed.action, [0] * 6 + [-1])
    assert step(executor, 4) is None, "the queue was flushed"
    executor.offer(chunk(4))
    at = CENTRE + [0.0, 0.004, 0.0]
    np.testing.assert_allclose(step(executor, 4, at=at).target.position, at + 0.5 * STEP, atol=1e-12)


def test_a_hold_follows_an_arm_that_was_pushed_away() -> None:
    executor = made()
    executor.offer(chunk(1))
    step(executor, 1)
    pushed = CENTRE + [0.05, 0.0, 0.0]
    np.testing.assert_array_equal(step(executor, 2, mode(2, Mode.HOLD), at=pushed).target.position, pushed)
    outside = CENTRE + [0.5, 0.0, 0.0]
    result = step(executor, 3, mode(3, Mode.HOLD), at=outside)
    assert result.target is None and not result.executed.commanded


def test_the_first_hold_keeps_the_arm_where_it_is() -> None:
    result = step(made(), 1, mode(1, Mode.HOLD))
    np.testing.assert_array_equal(result.target.position, CENTRE)


@pytest.mark.parametrize(
    "measured, word",
    [
        (state(2, mode=RobotMode.REFLEX), "mode: the robot is in REFLEX"),
        (state(2, mode=RobotMode.USER_STOPPED), "mode: the robot is in USER_STOPPED"),
        (state(2, error=True), "mode: the robot reports an error"),
        (state(2, force=np.array([0.0, 0.0, 50.0])), "force: 50.0 N"),
        (replace(state(2), stamp=stamp(2) - 201_000_000), "state: measured 0.201 s before"),
        (state(2, force=np.full(3, np.nan)), "force: the measured force is not finite"),
    ],
)
def test_what_the_state_forbids_holds_without_a_chunk_and_recovers_by_itself(measured, word: str) -> None:
    executor = made()
    executor.offer(chunk(1))
    step(executor, 1)
    held = step(executor, 2, measured=measured)
    assert held.executed.driver is Driver.HOLD and held.executed.reason.startswith(word)
    assert held.executed.remaining == 0
    executor.offer(chunk(3))
    assert step(executor, 3).executed.driver is Driver.VLA


def test_an_operator_that_fell_silent_holds() -> None:
    executor = made(lockstep=False)
    step(executor, 1, patient=True)
    executor.offer(chunk(1))
    step(executor, 1)
    assert step(executor, 5, mode(1)).executed.driver is Driver.VLA
    result = step(executor, 6, mode(1))
    assert result.executed.reason == "operator: silent for 0.250 s"


def test_vla_and_rl_change_hands_at_the_chunk_boundary() -> None:
    executor = made()
    executor.offer(chunk(1))
    drivers = []
    for i in range(1, 12):
        word = mode(i, Mode.RL, phase_id=1) if i >= 4 else mode(i)
        if i == 11:
            executor.offer(chunk(11, driver=Driver.ACTOR, phase_id=1))
        drivers.append((step(executor, i, word).executed.driver, step(executor, i, word).executed.phase_id))
    assert drivers == [(Driver.VLA, 0)] * 10 + [(Driver.ACTOR, 1)]


def test_the_end_of_a_phase_acts_at_once() -> None:
    executor = made()
    executor.offer(chunk(1, phase_id=1))
    assert step(executor, 1, mode(1, phase_id=1)).executed.phase_id == 1
    assert step(executor, 2, mode(2, phase=Phase.LABELLED)).executed.phase_id == 0


def test_a_person_takes_over_at_once_and_is_stored_as_executed() -> None:
    """A02: policy at +0.5, human at -0.2."""
    executor = made()
    executor.offer(chunk(1, phase_id=1))
    assert step(executor, 1, mode(1, phase_id=1)).executed.driver is Driver.VLA
    word = mode(2, Mode.HUMAN, phase_id=1)
    assert step(executor, 2, word) is None, "lockstep waits for the command"
    done = step(executor, 2, word, human=human(2)).executed
    assert (done.driver, done.phase_id, done.chunk_id) == (Driver.HUMAN, 1, 0)
    np.testing.assert_allclose(done.action, [-0.2] * 6 + [-1.0], atol=1e-6)


def test_hand_back_starts_from_the_measured_pose_and_a_new_observation() -> None:
    """B42: the policy must not jump to its own old target."""
    executor = made()
    executor.offer(chunk(1, value=1.0))
    step(executor, 1)
    at = CENTRE.copy()
    for i in range(2, 12):
        at = at + [-0.005, 0.0, 0.0]
        step(executor, i, mode(i, Mode.HUMAN), at=at, human=human(i, 0.0))
    assert step(executor, 12, at=at) is None
    executor.offer(chunk(12, value=0.1))
    np.testing.assert_allclose(step(executor, 12, at=at).target.position, at + 0.1 * STEP, atol=1e-12)


def test_a_released_stick_stops_within_a_tenth_of_a_second() -> None:
    """B41."""
    executor = made(lockstep=False)
    last = human(1, 0.5)
    drivers = [step(executor, i, mode(i, Mode.HUMAN), human=last).executed for i in range(1, 6)]
    assert [d.driver for d in drivers] == [Driver.HUMAN] * 3 + [Driver.HOLD] * 2
    assert drivers[-1].reason == "human: the command is 0.200 s old"
    assert step(executor, 6, mode(6, Mode.HUMAN)).executed.reason == "human: no command has come"


def test_a_command_that_is_not_finite_holds_and_a_large_one_is_clipped() -> None:
    executor = made()
    broken = replace(human(1), action=np.full(7, np.nan))
    assert step(executor, 1, mode(1, Mode.HUMAN), human=broken).executed.reason.startswith("human: not 7 finite values")
    done = step(executor, 2, mode(2, Mode.HUMAN), human=human(2, 5.0)).executed
    assert done.action[0] == pytest.approx(1.0)


def test_the_gripper_is_commanded_once_per_change_and_stored_as_held() -> None:
    executor = made()
    opening = chunk(1)
    opening.actions[:, 6] = [-0.9, -0.9, 0.1, 0.9, 0.9, 0.1, 0.1, -0.1, -0.9, -0.9]
    executor.offer(opening)
    results = [step(executor, i) for i in range(1, 11)]
    assert [r.gripper for r in results] == [-1.0, None, None, 1.0, None, None, None, None, -1.0, None]
    assert [r.executed.action[6] for r in results] == [-1, -1, -1, 1, 1, 1, 1, 1, -1, -1]


def test_a_reset_in_lockstep_is_waited_for() -> None:
    executor = made()
    executor.offer(chunk(1))
    step(executor, 1)
    word = mode(2, Mode.RESET)
    asked = step(executor, 2, word)
    assert asked.wants_reset and asked.executed is None and asked.target is None
    assert step(executor, 2, word) is None
    executor.reset_finished(True)
    done = step(executor, 2, word).executed
    assert (done.driver, done.reset_done, done.commanded, done.phase_id) == (Driver.RESET, True, False, 0)
    assert step(executor, 2, word).executed is done
    executor.offer(chunk(3, value=0.0))
    away = CENTRE + [0.0, 0.05, 0.05]
    moved = executor.step(3, stamp(3), 2, 0, state(3, away), mode(3, episode=2))
    np.testing.assert_allclose(moved.target.position, away, atol=1e-12)


def test_a_reset_in_real_time_reports_every_step() -> None:
    executor = made(lockstep=False)
    assert step(executor, 1, mode(1, Mode.RESET)).wants_reset
    done = [step(executor, i, mode(i, Mode.RESET)).executed for i in (1, 2)]
    assert [d.driver for d in done] == [Driver.RESET] * 2 and not any(d.reset_done for d in done)
    executor.reset_finished(True)
    assert step(executor, 3, mode(3, Mode.RESET)).executed.reset_done
    late = step(executor, 4, mode(3, Mode.RESET)).executed
    assert late.driver is Driver.HOLD and late.reason.startswith("reset: done")


def test_a_failed_reset_holds_until_asked_again() -> None:
    executor = made()
    assert step(executor, 1, mode(1, Mode.RESET)).wants_reset
    executor.reset_finished(False)
    assert step(executor, 1, mode(1, Mode.RESET)).executed.reason.startswith("reset: failed")
    assert not step(executor, 2, mode(2, Mode.RESET)).wants_reset, "no storm of retries"
    step(executor, 3, mode(3, Mode.HOLD))
    assert step(executor, 4, mode(4, Mode.RESET)).wants_reset


def test_a_stop_interrupts_a_reset() -> None:
    executor = made()
    assert step(executor, 1, mode(1, Mode.RESET)).wants_reset
    assert step(executor, 1, mode(1, Mode.HOLD)).executed.driver is Driver.HOLD


def test_one_step_per_observation_and_the_last_target_for_leaving() -> None:
    executor = made()
    assert executor.hold() is None
    executor.offer(chunk(1))
    last = [step(executor, i) for i in range(1, 6)][-1]
    assert executor.hold() is last.target
    assert executor.counts["vla"] == 5
    assert PERIOD * 5 == last.executed.stamp


# real time


def running(value: float = 0.5, until: int = 1, **rest: object) -> ChunkExecutor:
    """An executor in real time that drives the rows of the chunk of observation 1."""
    executor = made(lockstep=False)
    step(executor, 1, patient=True)
    executor.offer(chunk(1, value=value))
    for i in range(1, until + 1):
        step(executor, i, **rest)
    return executor


@pytest.mark.parametrize(
    "replayed, why",
    [
        (chunk(500), "has seen no such observation"),
        (replace(chunk(3), stamp=stamp(3) - 10**12), "stamp -999850000000 ns, the observation's 150000000 ns"),
        (replace(chunk(3), stamp=stamp(3) + 1), "stamp 150000001 ns"),
    ],
)
def test_a_replayed_chunk_never_moves_the_arm_and_does_not_stop_the_true_ones(replayed, why: str) -> None:
    """B36."""
    executor = running(until=5)
    with pytest.raises(ChunkRefused, match=why):
        executor.offer(replayed)
    assert executor.counts["refused"] == 1
    executor.offer(chunk(5))
    rows = [step(executor, i).executed for i in range(6, 13)]
    assert [(r.chunk_id, r.chunk_index) for r in rows[-3:]] == [(1, 9), (5, 6), (5, 7)]


def test_a_chunk_of_long_ago_is_refused_though_the_observation_was_seen() -> None:
    executor = made(lockstep=False)
    for i in range(1, 23):
        step(executor, i)
    with pytest.raises(StaleChunk, match="chunk of observation 1: it is 1.050 s old, limit 1.000 s"):
        executor.offer(chunk(1))
    assert executor.counts["stale"] == 1
    executor.offer(chunk(2))
    assert step(executor, 23).executed.chunk_id == 2


def test_a_chunk_that_overtakes_its_observation_waits_for_it_and_a_false_one_is_refused_then() -> None:
    executor = running()
    executor.offer(replace(chunk(2), stamp=7))
    assert step(executor, 2).executed.chunk_id == 1
    assert executor.counts["refused"] == 1
    executor = made(lockstep=False)
    step(executor, 1)
    executor.offer(chunk(2))
    assert step(executor, 2).executed.chunk_id == 2


@pytest.mark.parametrize("again", [(3, 150_000_000), (2, 200_000_000), (9, 149_999_999), (9, 40)])
def test_a_replayed_observation_is_refused(again: tuple[int, int]) -> None:
    executor = running(until=3)
    with pytest.raises(ValueError, match="came after observation 3"):
        executor.observe(*again)
    executor.observe(4, stamp(4))
    executor.forget()
    executor.observe(5, 40)


def test_a_command_from_the_future_does_not_outlive_the_person() -> None:
    executor = made(lockstep=False)
    ahead = replace(human(1, observation_id=0), stamp=stamp(1) + 10**12)
    reason = step(executor, 1, mode(1, Mode.HUMAN), human=ahead).executed.reason
    assert reason == "human: the command's stamp lies 1000.000 s ahead"


def test_real_time_waits_for_the_command_that_answers_the_observation_and_no_longer_than_it_may() -> None:
    executor = made(lockstep=False)
    step(executor, 1, mode(1, Mode.HUMAN), human=human(1))
    word = mode(2, Mode.HUMAN)
    assert step(executor, 2, word, human=human(1), patient=True) is None
    assert step(executor, 2, word, human=human(2), patient=True).executed.driver is Driver.HUMAN
    stick = human(2, observation_id=0)
    assert step(executor, 3, mode(3, Mode.HUMAN), human=stick, patient=True).executed.driver is Driver.HUMAN
    late = step(executor, 4, mode(4, Mode.HUMAN), human=human(2))
    assert late.executed.driver is Driver.HUMAN, "the newest one counts when its time is over"


def test_the_switch_takes_effect_at_the_next_boundary_though_a_chunk_was_decided_before_it() -> None:
    executor = running(until=8)
    vla, rl = mode(8, phase_id=1), mode(11, Mode.RL, phase_id=1)
    executor.hear(vla)
    executor.offer(chunk(8, phase_id=1))
    for i in (9, 10):
        assert step(executor, i, mode(i, phase_id=1), patient=True).executed.chunk_id == 1
    executor.hear(rl)
    assert step(executor, 11, rl, patient=True) is None, "the chunk decided before the switch does not start"
    executor.offer(chunk(8, driver=Driver.ACTOR, phase_id=1))
    assert step(executor, 11, rl, patient=True).executed.driver is Driver.ACTOR


def test_a_switch_whose_new_chunk_does_not_come_does_not_starve_the_arm() -> None:
    executor = running(until=8)
    executor.hear(mode(8))
    executor.offer(chunk(8))
    for i in (9, 10):
        step(executor, i, patient=True)
    rl = mode(11, Mode.RL, phase_id=1)
    executor.hear(rl)
    assert step(executor, 11, rl, patient=True) is None
    assert step(executor, 11, rl).executed.driver is Driver.VLA


def test_a_hold_stands_where_the_set_points_are_and_starvation_at_the_last_target() -> None:
    executor = running()
    half = Pose.of(CENTRE + 0.25 * STEP, ROBOT.reference.quaternion)
    held = step(executor, 2, mode(2, Mode.HOLD), standing=half)
    np.testing.assert_array_equal(held.target.position, half.position)
    executor = running(until=10)
    target = executor.hold()
    starved = step(executor, 11, standing=half, at=target.position)
    assert starved.executed.reason.startswith("starved") and starved.target is target


def test_a_chunk_that_is_wholly_late_is_said() -> None:
    slow = ChunkExecutor(ROBOT, lockstep=False)
    step(slow, 1, patient=True)
    slow.offer(chunk(1, length=3))
    for i in range(1, 4):
        step(slow, i)
    slow.offer(chunk(2, length=2))
    reason = step(slow, 4).executed.reason
    assert reason == "starved: the chunk of observation 2 came 2 steps late"


def test_what_the_caller_knows_to_be_wrong_holds_and_after_it_only_a_new_chunk_drives() -> None:
    executor = running(until=3)
    executor.offer(chunk(3))
    held = step(executor, 4, fault="state: silent for 0.16 s, limit 0.15 s")
    assert held.executed.driver is Driver.HOLD and held.executed.reason.startswith("state: silent")
    assert step(executor, 5).executed.reason.startswith("starved")
    executor.offer(chunk(5))
    assert step(executor, 6).executed.chunk_index == 0


def test_an_interruption_between_observations_drops_the_queue_and_the_anchor() -> None:
    executor = running(until=3)
    half = Pose.of(CENTRE + 0.25 * STEP, ROBOT.reference.quaternion)
    executor.interrupt(half)
    assert executor.hold() is half
    assert step(executor, 4).executed.reason.startswith("starved")
    executor.offer(chunk(4))
    at = CENTRE + [0.0, 0.001, 0.0]
    np.testing.assert_allclose(step(executor, 5, at=at).target.position, at + 0.5 * STEP, atol=1e-12)


def test_a_target_that_the_command_back_end_refuses_is_a_hold() -> None:
    executor = ChunkExecutor(ROBOT, chunk=10, refuses=lambda target, measured: "reach: joint 4 is at its end")
    executor.offer(chunk(1))
    result = step(executor, 1)
    assert result.executed.driver is Driver.HOLD and result.executed.reason == "reach: joint 4 is at its end"
    np.testing.assert_allclose(result.target.position, CENTRE)

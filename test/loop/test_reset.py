"""The reset as a motion, through executor and safety, on an arm that lags behind its target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_parts import CENTRE, PERIOD, ROBOT, chunk, mode, stamp, state

from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.reset import ResetMotion, draw, extremes
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.safety import Safety
from rlt_ros.robot.sections import Start
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.types import Driver, Mode

INSIDE = CENTRE + [0.06, -0.05, -0.09]


def having(**changes: object) -> RobotConfig:
    return replace(ROBOT, reset=replace(ROBOT.reset, **changes))


class LaggingArm:
    """Goes half of the way to its target in every step, unless something holds it back."""

    def __init__(self, at: np.ndarray = INSIDE, turn: tuple[float, float, float] = (0.0, 0.2, -0.3)) -> None:
        self.pose = ROBOT.reference.moved(np.asarray(at) - ROBOT.reference.position, np.array(turn))
        self.path = [self.pose]
        self.block: Callable[[np.ndarray], bool] = lambda position: False

    def follow(self, target: Pose | None) -> None:
        if target is None:
            return
        step, turn = self.pose.to(target)
        moved = self.pose.moved(0.5 * step, 0.5 * turn)
        if not self.block(moved.position):
            self.pose = moved
        self.path.append(self.pose)

    def state(self, i: int, **changes: object) -> RobotState:
        return state(i, pose=self.pose, **changes)


def run(
    arm: LaggingArm,
    robot: RobotConfig = ROBOT,
    seed: int = 5,
    steps: int = 800,
    change: Callable[[int], dict[str, object]] = lambda i: {},
    word: Callable[[int], Mode] = lambda i: Mode.RESET,
    start: tuple[float, ...] = (),
) -> list[StepResult]:
    executor, results = ChunkExecutor(robot, chunk=10, moves=True), []
    for i in range(1, steps):
        asked = mode(i, word(i), reset_seed=seed, reset_start=start)
        results.append(executor.step(i, stamp(i), 1, i, arm.state(i, **change(i)), asked))
        arm.follow(results[-1].target)
        if results[-1].executed.reset_done:
            break
    return results


def test_it_ends_at_the_start_of_its_seed_as_after_a_teleport() -> None:
    arm = LaggingArm()
    results = run(arm)
    assert all(r.executed.driver is Driver.RESET and r.executed.commanded for r in results)
    assert [r.executed.reset_done for r in results] == [False] * (len(results) - 1) + [True]
    assert all(r.executed.phase_id == 0 and not r.wants_reset for r in results)
    step, turn = arm.pose.to(draw(ROBOT.reset.start, 5))
    assert np.linalg.norm(step) <= ROBOT.reset.tolerance and np.linalg.norm(turn) <= ROBOT.reset.rotation_tolerance


def test_a_wanted_start_takes_the_place_of_the_config_s_and_the_seed_still_adds_its_offset() -> None:
    middle = ROBOT.reset.start.position + np.array([0.04, -0.06, -0.05])
    wanted = (*middle, *ROBOT.reset.start.quaternion)
    ends = []
    for seed in (5, 6, 5):
        arm = LaggingArm()
        assert run(arm, seed=seed, start=wanted)[-1].executed.reset_done
        ends.append(arm.pose.position)
        assert (np.abs(arm.pose.position - middle) <= np.array(ROBOT.reset.start.spread) + ROBOT.reset.tolerance).all()
    assert np.linalg.norm(ends[0] - ends[2]) < 1e-9 < np.linalg.norm(ends[0] - ends[1])


@pytest.mark.parametrize("seed", range(8))
def test_about_a_wanted_start_nothing_lies_below_it(seed: int) -> None:
    """A person saves it where the arm fails, close to the board."""
    wanted = (*ROBOT.reset.start.position, *ROBOT.reset.start.quaternion)
    motion = ResetMotion(ROBOT, Safety(ROBOT.limits, ROBOT.reference))
    motion.begin(stamp(0), LaggingArm().state(0), seed, Pose.of(wanted[:3], wanted[3:]))
    assert 0.0 <= motion.start.position[2] - wanted[2] <= ROBOT.reset.start.spread[2]
    motion.begin(stamp(0), LaggingArm().state(0), seed)
    assert abs(motion.start.position[2] - wanted[2]) <= ROBOT.reset.start.spread[2]


def test_a_wanted_start_at_the_edge_keeps_inside_and_one_beyond_it_fails_the_reset() -> None:
    edge = (*ROBOT.limits.workspace.lower[:2], 0.1, *ROBOT.reset.start.quaternion)
    arm = LaggingArm()
    assert run(arm, start=edge)[-1].executed.reset_done
    assert all((pose.position >= np.array(ROBOT.limits.workspace.lower) - 1e-6)[:2].all() for pose in arm.path)
    arm = LaggingArm()
    results = run(arm, start=(0.9, 0.0, 0.1, *ROBOT.reset.start.quaternion), steps=5)
    assert "lies outside the workspace; stop and ask again" in results[-1].executed.reason
    assert {tuple(pose.position) for pose in arm.path} == {tuple(INSIDE)}


def test_first_up_then_across_then_down() -> None:
    arm = LaggingArm()
    run(arm)
    start, path = draw(ROBOT.reset.start, 5).position, np.array([pose.position for pose in arm.path])
    across = np.linalg.norm(path[:, :2] - INSIDE[:2], axis=1)
    high = max(INSIDE[2] + ROBOT.reset.lift, start[2])
    assert (path[(across > 0.002) & (np.linalg.norm(path[:, :2] - start[:2], axis=1) > 0.012), 2] > high - 0.012).all()
    assert path[:, 2].max() <= high + 1e-6


def test_speed_is_bounded_and_every_target_is_on_the_leash() -> None:
    arm = LaggingArm()
    results = run(arm)
    targets = [r.target for r in results]
    for one, other in zip(targets, targets[1:], strict=False):
        step, turn = one.to(other)
        assert np.linalg.norm(step) <= ROBOT.reset.speed / ROBOT.control_rate + 1e-9
        assert np.linalg.norm(turn) <= ROBOT.reset.rotation_speed / ROBOT.control_rate + 1e-9
        assert float(np.dot(one.quaternion, other.quaternion)) > 0.99
    for before, target in zip(arm.path, targets, strict=False):
        assert np.linalg.norm(before.to(target)[0]) <= ROBOT.limits.leash_translation + 1e-9


def test_the_episode_after_it_starts_from_the_measured_pose() -> None:
    executor, arm = ChunkExecutor(ROBOT, chunk=10, moves=True), LaggingArm()
    for i in range(1, 800):
        result = executor.step(i, stamp(i), 1, i, arm.state(i), mode(i, Mode.RESET, reset_seed=5))
        arm.follow(result.target)
        if result.executed.reset_done:
            break
    late = executor.step(i + 1, stamp(i + 1), 2, 0, arm.state(i + 1), mode(i + 1, Mode.RESET, reset_seed=5))
    assert late.executed.reason.startswith("reset: done")
    executor.offer(chunk(i + 2, value=0.1))
    first = executor.step(i + 2, stamp(i + 2), 2, 1, arm.state(i + 2), mode(i + 2, episode=2))
    assert first.executed.driver is Driver.VLA
    moved = arm.pose.to(first.target)[0]
    np.testing.assert_allclose(moved, 0.1 * ROBOT.action_scale.translation, atol=1e-9)


def test_an_obstacle_ends_it_by_name_and_the_arm_holds() -> None:
    arm = LaggingArm()
    arm.block = lambda position: position[0] < 0.53
    results = run(arm)
    last = results[-1].executed
    assert last.driver is Driver.HOLD and not last.reset_done
    assert last.reason.startswith("reset: failed: no progress for 2 s, ") and last.reason.endswith("stop and ask again")
    assert "an obstacle?" in last.reason
    still = [r.target.position for r in results[-10:]]
    np.testing.assert_array_equal(still, [still[0]] * 10)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"force": np.array([0.0, 0.0, 60.0])}, "force: 60.0 N"),
        ({"mode": RobotMode.USER_STOPPED}, "mode: the robot is in USER_STOPPED"),
        ({"mode": RobotMode.REFLEX, "error": True, "errors": ("joint_reflex",)}, "joint_reflex"),
    ],
)
def test_what_forbids_motion_ends_it_by_name(change: dict[str, object], words: str) -> None:
    results = run(LaggingArm(), change=lambda i: change if i == 20 else {}, steps=60)
    assert results[18].executed.driver is Driver.RESET
    for result in results[19:]:
        assert result.executed.driver is Driver.HOLD
        assert result.executed.reason.startswith("reset: failed: ") and words in result.executed.reason


def test_it_begins_when_nothing_forbids_it_any_more() -> None:
    results = run(LaggingArm(), change=lambda i: {"mode": RobotMode.USER_STOPPED} if i < 20 else {})
    assert [r.executed.driver for r in results[:19]] == [Driver.HOLD] * 19
    assert results[-1].executed.reset_done


def test_old_measurements_are_a_pause_and_no_failure() -> None:
    results = run(LaggingArm(), change=lambda i: {"stamp": stamp(i) - 6 * PERIOD} if 20 <= i < 30 else {})
    assert [r.executed.driver for r in results[19:29]] == [Driver.HOLD] * 10
    assert results[-1].executed.reset_done


def test_a_stop_ends_it_and_the_next_one_begins_anew() -> None:
    results = run(LaggingArm(), word=lambda i: Mode.HOLD if 20 <= i < 25 else Mode.RESET)
    assert [r.executed.reason for r in results[19:24]] == ["operator: hold"] * 5
    assert results[-1].executed.reset_done


def test_the_hand_opens_first_if_it_is_to() -> None:
    results = run(LaggingArm(), having(gripper="open"))
    assert [r.gripper for r in results[:3]] == [1.0, None, None]
    waited = round(ROBOT.reset.gripper_seconds * ROBOT.control_rate)
    still = np.array([r.target.position for r in results[: waited + 1]])
    np.testing.assert_array_equal(still, np.broadcast_to(still[0], still.shape))
    assert results[-1].executed.reset_done and results[-1].executed.action[6] == 1.0
    assert {r.gripper for r in run(LaggingArm())} == {None}


def test_it_does_not_take_for_ever() -> None:
    reason = run(LaggingArm(), having(time_limit=1.0))[-1].executed.reason
    assert reason.startswith("reset: failed: not at the start after 1 s")


SAVED = (0.45, 0.05, 0.2, 1.0, 0.0, 0.0, 0.0), (0.55, -0.05, 0.1, 1.0, 0.0, 0.0, 0.0)


def starting(**changes: object) -> Start:
    return replace(ROBOT.reset.start, **changes)


def test_saved_starts_are_chosen_by_the_seed() -> None:
    start = starting(saved=SAVED)
    drawn = {tuple(draw(start, seed).position) for seed in range(20)}
    assert drawn == {pose[:3] for pose in SAVED}
    assert draw(start, 3).position.tolist() == draw(start, 3).position.tolist()


@given(st.integers(0, 2**40))
def test_random_starts_repeat_and_lie_within_their_ranges(seed: int) -> None:
    start, pose = ROBOT.reset.start, draw(ROBOT.reset.start, seed)
    assert (np.abs(pose.position - start.position) <= np.array(start.spread) + 1e-12).all()
    assert pose.quaternion.tolist() == draw(start, seed).quaternion.tolist()
    assert Safety(ROBOT.limits, ROBOT.reference).inside(pose)


@pytest.mark.parametrize(
    "start", [starting(position=(0.9, 0.0, 0.1)), starting(spread=(0.2, 0.0, 0.0)), starting(rotation=(0.0, 0.6, 0.0))]
)
def test_a_start_outside_the_workspace_is_refused_at_once(start: Start) -> None:
    with pytest.raises(ValueError, match="reset.start: .* lies outside the workspace"):
        ResetMotion(having(start=start), Safety(ROBOT.limits, ROBOT.reference))
    assert len(list(extremes(start))) == 8


box = ROBOT.limits.workspace
place = st.tuples(*(st.floats(low - 0.006, high + 0.006) for low, high in zip(box.lower, box.upper, strict=True)))


@settings(max_examples=15, deadline=None)
@given(place, st.tuples(*(st.floats(-limit - 0.05, limit + 0.05) for limit in box.rotation)), st.integers(0, 10**6))
def test_from_wherever_the_arm_may_be_it_gets_there(at, turn, seed: int) -> None:
    assert run(LaggingArm(np.array(at), turn), seed=seed)[-1].executed.reset_done

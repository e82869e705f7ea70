"""The joint back-end: what it plans, what it refuses, what it remembers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm_states import AT_HOME, HOME, far, measured, step

from rlt_ros.robot import kinematics
from rlt_ros.robot.commands.base import CommandRefused, SetPoint
from rlt_ros.robot.commands.joint_trajectory import JointTrajectoryBackend
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState

ROBOT = load_robot("fr3_joint_trajectory")
JOINTS = ROBOT.arm.joints


@pytest.fixture
def backend() -> JointTrajectoryBackend:
    return JointTrajectoryBackend(ROBOT)


def walk(backend: JointTrajectoryBackend, steps: int, seed: int = 0) -> list[np.ndarray]:
    """Joint positions commanded on a smooth random way through the workspace, the arm following at once."""
    rng, q, found = np.random.default_rng(seed), AT_HOME, []
    lower, upper = np.array(ROBOT.limits.workspace.lower), np.array(ROBOT.limits.workspace.upper)
    phase, pace = rng.uniform(0.0, 6.3, 6), rng.uniform(0.01, 0.03, 6)
    for i in range(steps):
        wave = np.sin(phase + pace * i) * min(1.0, i / 50)
        place = 0.5 * (lower + upper) + 0.5 * (upper - lower) * wave[:3]
        pose = HOME.moved((place - HOME.position) * min(1.0, i / 50), wave[3:] * [0.2, 0.2, 0.5])
        q = backend.command([SetPoint(pose)], measured(q), 0.0).positions[-1]
        assert far(kinematics.forward(q), pose) < 2e-6
        found.append(q)
    return found


def test_one_set_point_is_one_point_at_rest(backend: JointTrajectoryBackend) -> None:
    target = step(HOME, x=0.005, z=-0.003, turn=(0.0, 0.02, 0.05))
    trajectory = backend.command([SetPoint(target)], measured(), 0.0)
    assert trajectory.names == ROBOT.joint_names
    assert trajectory.times.tolist() == [ROBOT.command.joint_trajectory.lead]
    assert far(kinematics.forward(trajectory.positions[0]), target) < 2e-6
    assert (trajectory.velocities == 0.0).all()


def test_velocities_are_filled_in_and_the_last_is_zero(backend: JointTrajectoryBackend) -> None:
    points = [SetPoint(step(HOME, x=0.002 * (i + 1)), 0.02 * i) for i in range(4)]
    trajectory = backend.command(points, measured(), 0.0)
    np.testing.assert_allclose(trajectory.times, [0.10, 0.12, 0.14, 0.16])
    knots = np.vstack([AT_HOME, trajectory.positions])
    moments = np.concatenate([[0.0], trajectory.times])
    for i in range(3):
        expected = (knots[i + 2] - knots[i]) / (moments[i + 2] - moments[i])
        np.testing.assert_allclose(trajectory.velocities[i], expected)
        assert np.abs(trajectory.velocities[i]).max() > 0.01
    assert (trajectory.velocities[-1] == 0.0).all()


@pytest.mark.parametrize("ahead", [[], [0.11], [0.0, 0.0], [0.02, 0.01]])
def test_nothing_goes_out_further_ahead_than_the_horizon_or_out_of_order(
    backend: JointTrajectoryBackend, ahead: list[float]
) -> None:
    with pytest.raises(ValueError, match="expected rising times up to 0.2"):
        backend.command([SetPoint(HOME, seconds) for seconds in ahead], measured(), 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_walk_stays_within_limits_and_the_elbow_never_jumps(backend: JointTrajectoryBackend, seed: int) -> None:
    found = np.array(walk(backend, 300, seed))
    assert not any(JOINTS.outside(q, ROBOT.command.joint_trajectory.joint_margin).any() for q in found)
    assert np.abs(np.diff(found, axis=0)).max() < 0.05


def test_the_elbow_returns_towards_the_ready_posture(backend: JointTrajectoryBackend) -> None:
    away = kinematics.inverse(HOME, AT_HOME + [0.4, 0.0, -0.4, 0.0, 0.0, 0.0, 0.0])
    q = away
    for _ in range(800):
        q = backend.command([SetPoint(step(HOME))], measured(q), 0.0).positions[-1]
    assert np.abs(q - AT_HOME).max() < 0.25 * np.abs(away - AT_HOME).max()
    assert far(kinematics.forward(q), HOME) < 2e-6


def refused(backend: JointTrajectoryBackend, target: Pose, state: RobotState) -> str:
    reason = backend.refuses(target, state)
    with pytest.raises(CommandRefused) as raised:
        backend.command([SetPoint(target)], state, 0.0)
    assert str(raised.value) == reason
    return reason


def test_what_is_out_of_reach_is_refused(backend: JointTrajectoryBackend) -> None:
    assert refused(backend, Pose.of([1.2, 0.0, 0.2], HOME.quaternion), measured()).startswith("reach: ")


def test_a_jump_is_refused_with_the_joint(backend: JointTrajectoryBackend) -> None:
    assert refused(backend, step(HOME, x=0.15), measured()).startswith("jump: joint ")


def test_a_stretched_arm_is_refused(backend: JointTrajectoryBackend) -> None:
    q = np.array([0.0, 0.6, 0.0, -0.18, 0.0, 2.0, np.pi / 4])
    pose = kinematics.forward(q)
    outwards = np.array([np.sin(0.6), 0.0, np.cos(0.6)])
    reason = refused(backend, pose.moved(0.001 * outwards, np.zeros(3)), measured(q))
    assert reason.startswith("singularity: smallest singular value")


def test_the_end_of_a_joints_range_is_refused_but_not_the_way_back(backend: JointTrajectoryBackend) -> None:
    q = AT_HOME.copy()
    q[6] = JOINTS.upper[6] - 0.04
    turn = kinematics.forward(q)
    outwards, back = (turn.moved(np.zeros(3), sign * np.array([0.0, 0.0, 0.02])) for sign in (-1.0, 1.0))
    reason = refused(backend, outwards, measured(q))
    assert reason.startswith("limits: joint 7 would be at ") and "margin 0.05" in reason
    assert backend.refuses(back, measured(q)) == ""


def test_too_fast_is_refused() -> None:
    settings = replace(ROBOT.command.joint_trajectory, velocity_scale=0.02)
    slow = replace(ROBOT, command=replace(ROBOT.command, joint_trajectory=settings))
    assert refused(JointTrajectoryBackend(slow), step(HOME, x=0.01), measured()).startswith("speed: joint ")


def test_another_tool_than_the_models_is_refused(backend: JointTrajectoryBackend) -> None:
    state = measured(pose=step(HOME, z=0.03))
    assert refused(backend, step(HOME, z=0.03), state).startswith("model: the measured pose is 30.0 mm")


def test_after_a_refusal_the_arm_goes_on_from_where_it_was(backend: JointTrajectoryBackend) -> None:
    first = backend.command([SetPoint(step(HOME, x=0.002))], measured(), 0.0).positions[-1]
    refused(backend, step(HOME, x=0.2), measured(first))
    second = backend.command([SetPoint(step(HOME, x=0.003))], measured(first), 0.0).positions[-1]
    assert 0.0 < np.abs(second - first).max() < 0.01


def test_a_hold_repeats_what_was_commanded_and_moves_nothing(backend: JointTrajectoryBackend) -> None:
    target = step(HOME, x=0.004)
    commanded = backend.command([SetPoint(target)], measured(), 0.0).positions[-1]
    for state in (measured(), None):
        held = backend.hold(target, state, 0.0)
        np.testing.assert_array_equal(held.positions, [commanded])
        assert held.times.tolist() == [0.1] and (held.velocities == 0.0).all()


def test_a_hold_elsewhere_is_at_the_measured_positions(backend: JointTrajectoryBackend) -> None:
    backend.command([SetPoint(step(HOME, x=0.004))], measured(), 0.0)
    np.testing.assert_array_equal(backend.hold(HOME, measured(), 0.0).positions, [AT_HOME])


def test_a_hold_of_an_arm_that_was_moved_is_where_it_is(backend: JointTrajectoryBackend) -> None:
    target = step(HOME, x=0.004)
    backend.command([SetPoint(target)], measured(), 0.0)
    moved = kinematics.inverse(HOME, AT_HOME + [0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(backend.hold(target, measured(moved), 0.0).positions, [moved])


def test_nothing_known_to_hold_at_is_said(backend: JointTrajectoryBackend) -> None:
    with pytest.raises(ValueError, match="no joint positions are known"):
        backend.hold(HOME, None, 0.0)


def test_the_elbow_of_an_arm_that_was_moved_stays_where_it_was_put(backend: JointTrajectoryBackend) -> None:
    backend.command([SetPoint(step(HOME, x=0.002))], measured(), 0.0)
    moved = kinematics.inverse(HOME, AT_HOME + [0.12, 0.0, -0.12, 0.0, 0.0, 0.0, 0.0])
    assert np.abs(moved - AT_HOME).max() > 0.06
    commanded = backend.command([SetPoint(step(HOME, x=0.003))], measured(moved), 0.0).positions[-1]
    assert np.abs(commanded - moved).max() < 0.03


def test_a_restart_forgets_what_was_commanded(backend: JointTrajectoryBackend) -> None:
    backend.command([SetPoint(step(HOME, x=0.002))], measured(), 0.0)
    backend.restart()
    fresh = JointTrajectoryBackend(ROBOT)
    moved, target = measured(AT_HOME + 0.02), step(HOME, x=0.003)
    one, other = (b.command([SetPoint(target)], moved, 0.0) for b in (backend, fresh))
    np.testing.assert_array_equal(one.positions, other.positions)

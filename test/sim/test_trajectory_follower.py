"""The simulated joint_trajectory_controller: what it rejects, and what it makes of the rest (franka_ros.md B.7)."""

from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot.commands.base import Trajectory
from rlt_ros.sim.controllers.base import Rejected
from rlt_ros.sim.controllers.trajectory_follower import TrajectoryFollower

NAMES = ("a", "b")
NAN = float("nan")


def trajectory(
    times: list[float], positions: list[list[float]], velocities: object = None, names: tuple[str, ...] = NAMES
) -> Trajectory:
    if velocities is None:
        velocities = np.full((len(times), len(names)), NAN)
    shape = (len(times), len(names))
    return Trajectory(
        names,
        np.array(times, dtype=float),
        np.array(positions, dtype=float).reshape(shape),
        np.array(velocities, dtype=float).reshape(shape),
    )


@pytest.fixture
def follower() -> TrajectoryFollower:
    made = TrajectoryFollower(NAMES)
    made.reset(np.array([1.0, 2.0]), 10.0)
    return made


@pytest.mark.parametrize(
    "sent, start, why",
    [
        (trajectory([], []), 10.0, "empty trajectory"),
        (trajectory([0.1], [[1.0]], names=("a",)), 10.0, "do not match"),
        (trajectory([0.1], [[1.0, 2.0]], names=("a", "c")), 10.0, "joint 'b' is not on the trajectory"),
        (trajectory([0.1, 0.1], [[1, 2], [1, 2]]), 10.0, "must rise strictly"),
        (trajectory([0.2, 0.1], [[1, 2], [1, 2]]), 10.0, "must rise strictly"),
        (trajectory([-0.1, 0.1], [[1, 2], [1, 2]]), 10.0, "must rise strictly"),
        (trajectory([0.1], [[1.1, 2.0]]), 9.8, "0.100 s in the past"),
        (trajectory([0.1], [[1.1, NAN]]), 10.0, "not finite"),
        (trajectory([0.1], [[1.1, 2.0]], [[0.1, 0.0]]), 10.0, "velocity of the last point is not zero"),
    ],
)
def test_what_is_rejected_leaves_the_running_trajectory_alone(
    follower: TrajectoryFollower, sent: Trajectory, start: float, why: str
) -> None:
    follower.accept(trajectory([0.2], [[2.0, 3.0]], [[0.0, 0.0]]), 10.0, 10.0)
    before = follower.sample(10.1)
    with pytest.raises(Rejected, match=why):
        follower.accept(sent, start, 10.0)
    np.testing.assert_array_equal(follower.sample(10.1), before)


def test_joints_are_mapped_by_name(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1], [[20.0, 10.0]], [[0.0, 0.0]], names=("b", "a")), 10.0, 10.0)
    assert follower.sample(10.5)[0].tolist() == [10.0, 20.0]


def test_velocities_make_a_cubic_that_ends_at_rest(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1], [[2.0, 2.0]], [[0.0, 0.0]]), 10.0, 10.0)
    position, velocity = follower.sample(10.05)
    assert position[0] == pytest.approx(1.5) and velocity[0] == pytest.approx(15.0)
    for moment in (10.1, 10.2):
        position, velocity = follower.sample(moment)
        assert position.tolist() == [2.0, 2.0] and velocity.tolist() == [0.0, 0.0]


def test_positions_alone_make_velocities_jump(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1, 0.2], [[2.0, 2.0], [2.0, 2.0]]), 10.0, 10.0)
    assert follower.sample(10.05)[1][0] == pytest.approx(10.0)
    assert follower.sample(10.15)[1][0] == 0.0


def test_a_replacement_starts_from_the_desired_position_and_velocity(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1], [[2.0, 2.0]], [[0.0, 0.0]]), 10.0, 10.0)
    before = follower.sample(10.05)
    follower.accept(trajectory([0.1], [[2.5, 2.0]], [[0.0, 0.0]]), 10.05, 10.05)
    np.testing.assert_allclose(follower.sample(10.05), before)
    assert follower.sample(10.2)[0].tolist() == [2.5, 2.0]


def test_a_start_in_the_future_goes_smoothly_to_its_first_point(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.0, 0.1], [[1.0, 2.0], [2.0, 2.0]], np.zeros((2, 2))), 10.1, 10.0)
    assert follower.sample(10.05)[0].tolist() == [1.0, 2.0]
    assert follower.sample(10.15)[0][0] == pytest.approx(1.5)


def test_of_a_start_in_the_past_the_rest_is_carried_out(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1, 0.2], [[5.0, 5.0], [2.0, 2.0]], np.zeros((2, 2))), 9.85, 10.0)
    positions = np.array([follower.sample(10.0 + t)[0][0] for t in np.linspace(0.0, 0.05, 11)])
    assert positions[0] == 1.0 and positions[-1] == 2.0 and (np.diff(positions) >= 0.0).all()


def test_a_stream_of_single_points_makes_a_steady_motion(follower: TrajectoryFollower) -> None:
    """What the back-end does at 20 Hz with a lead of two periods: no stop at every point."""
    speeds = []
    for i in range(40):
        now = 10.0 + 0.05 * i
        follower.accept(trajectory([0.1], [[1.0 + 0.01 * (i + 1), 2.0]], [[0.0, 0.0]]), now, now)
        speeds += [follower.sample(now + t)[1][0] for t in (0.0, 0.01, 0.02, 0.03, 0.04)]
    steady = np.array(speeds[100:])
    assert steady.min() > 0.15 and steady.max() < 0.25  # 0.2 rad/s on average


def test_activation_holds_the_present_positions(follower: TrajectoryFollower) -> None:
    follower.accept(trajectory([0.1], [[2.0, 2.0]], [[0.0, 0.0]]), 10.0, 10.0)
    follower.reset(np.array([1.2, 2.0]), 10.05)
    assert follower.sample(10.2)[0].tolist() == [1.2, 2.0]

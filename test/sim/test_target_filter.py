from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import ControlConfig
from rlt_ros.sim.controllers.target_filter import TargetFilter

HOME = Pose.of([0.5, 0.0, 0.2], [1.0, 0.0, 0.0, 0.0])
NO_TURN = np.zeros(3)


def cycle(controller: TargetFilter, measured: Pose) -> Pose:
    position, quat = controller.cycle(measured.position, np.roll(measured.quaternion, 1))
    return Pose.of(position, np.roll(quat, -1))


@pytest.fixture
def controller() -> TargetFilter:
    filter_ = TargetFilter(ControlConfig(), period=0.001)
    filter_.reset(HOME)
    return filter_


def test_target_is_the_current_pose_after_reset(controller: TargetFilter) -> None:
    controller.command(HOME.moved(np.array([0.005, 0, 0]), NO_TURN))
    cycle(controller, HOME)
    controller.reset(HOME)
    translation, turn = HOME.to(cycle(controller, HOME))
    np.testing.assert_allclose([translation, turn], 0.0, atol=1e-9)


def test_filter_is_first_order_per_cycle(controller: TargetFilter) -> None:
    # crisp_controllers: filter.target_pose 0.1 per cycle at 1 kHz.
    controller.command(HOME.moved(np.array([0.005, 0, 0]), np.array([0, 0, 0.05])))
    for n in range(1, 30):
        translation, turn = HOME.to(cycle(controller, HOME))
        assert translation[0] / 0.005 == pytest.approx(1 - 0.9**n, abs=0.01)
        assert turn[2] / 0.05 == pytest.approx(1 - 0.9**n, abs=0.01)


def test_filter_does_not_depend_on_the_cycle_period() -> None:
    target = HOME.moved(np.array([0.005, 0, 0]), NO_TURN)
    ends = []
    for period, cycles in ((0.001, 20), (0.010, 2)):
        controller = TargetFilter(ControlConfig(), period)
        controller.reset(HOME)
        controller.command(target)
        ends.append([cycle(controller, HOME) for _ in range(cycles)][-1].position)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_error_is_clipped_on_each_axis(controller: TargetFilter) -> None:
    controller.command(HOME.moved(np.array([0.05, -0.03, 0.004]), np.array([0.0, 0.0, 0.4])))
    for _ in range(200):
        pulled = cycle(controller, HOME)
    translation, turn = HOME.to(pulled)
    np.testing.assert_allclose(translation, [0.010, -0.010, 0.004], atol=1e-6)
    np.testing.assert_allclose(turn, [0.0, 0.0, 0.1], atol=1e-6)


def test_target_is_held_until_the_next(controller: TargetFilter) -> None:
    target = HOME.moved(np.array([0.005, 0, 0]), NO_TURN)
    controller.command(target)
    for _ in range(300):
        pulled = cycle(controller, HOME)
    np.testing.assert_allclose(pulled.position, target.position, atol=1e-9)
    np.testing.assert_allclose(controller.desired.position, target.position, atol=1e-9)
    np.testing.assert_array_equal(controller.target.position, target.position)


def test_both_signs_of_a_quaternion_are_the_same_target(controller: TargetFilter) -> None:
    controller.command(Pose(HOME.position, -HOME.quaternion))
    for _ in range(10):
        _, turn = HOME.to(cycle(controller, HOME))
        assert np.linalg.norm(turn) < 1e-9

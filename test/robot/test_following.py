"""Field report C04: the state looks normal, but the arm does not do what it is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.following import FollowingMonitor
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState

ROBOT = load_robot()
PERIOD = 50_000_000
DOWN = np.array([0.0, 0.0, -0.004, 0.0, 0.0, 0.0])
TURN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.04])
NOISE = 1e-4


def state(i: int, offset: np.ndarray, force: float = 0.0) -> RobotState:
    pose = ROBOT.reference.moved(np.asarray(offset[:3]), np.asarray(offset[3:]))
    push = np.array([0.0, 0.0, force])
    return RobotState(i * PERIOD, pose, np.zeros(7), np.zeros(7), push, np.zeros(3), 0.02, RobotMode.MOVE)


def first_bite(steps, monitor: FollowingMonitor | None = None) -> tuple[int, str] | None:
    """steps: (measured offset (6,), target ahead (6,), asked (6,), force)."""
    monitor = monitor or FollowingMonitor(ROBOT.following)
    for i, (measured, ahead, asked, force) in enumerate(steps):
        now = state(i, measured, force)
        target = Pose(now.pose.position + ahead[:3], now.pose.moved(np.zeros(3), ahead[3:]).quaternion)
        why = monitor.step(now.stamp, now, target, asked)
        if why:
            return i, why
    return None


def jitter(i: int) -> np.ndarray:
    return np.random.default_rng(i).uniform(-NOISE, NOISE, 6)


@pytest.mark.parametrize("asked", [DOWN, TURN])
def test_an_arm_that_stands_still_for_a_second_is_found(asked: np.ndarray) -> None:
    ahead = asked * (0.010 / 0.004 if asked is DOWN else 0.1 / 0.04)
    bite = first_bite([(jitter(i), ahead, asked, 0.3) for i in range(40)])
    assert bite is not None and bite[0] == 20
    assert bite[1].startswith("commanded for 1.00 s but the arm stands still: target")


def still(i: int, ahead=2.5 * DOWN, asked=DOWN, force=0.3):
    return (jitter(i), ahead, asked, force)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(i * 0.2 * DOWN, 2.5 * DOWN, DOWN, 0.3) for i in range(100)], id="it moves, slowly"),
        pytest.param([still(i, force=12.0) for i in range(100)], id="a peg on the rim holds it back"),
        pytest.param([still(i, ahead=0.5 * DOWN) for i in range(100)], id="the box ends there"),
        pytest.param([still(i, asked=jitter(i)) for i in range(100)], id="nothing but jitter is asked for"),
        pytest.param([still(i, asked=DOWN * (-1) ** i) for i in range(100)], id="there and back"),
    ],
)
def test_what_is_right_does_not_bite(steps) -> None:
    assert first_bite(steps) is None


def test_a_hold_begins_the_count_anew() -> None:
    monitor = FollowingMonitor(ROBOT.following)
    assert first_bite([still(i) for i in range(20)], monitor) is None
    monitor.rest()
    assert first_bite([still(i) for i in range(20)], monitor) is None


def test_the_limits_are_those_of_the_config() -> None:
    patient = FollowingMonitor(replace(ROBOT.following, seconds=3.0))
    bite = first_bite([still(i) for i in range(100)], patient)
    assert bite is not None and bite[0] == 60

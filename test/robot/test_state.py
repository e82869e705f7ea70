"""The 19 values: by name, relative to the reference, continuous through half a turn, and never from bad numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose, continued
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.types import PROPRIO_NAMES

ROBOT = load_robot()
STILL = np.zeros(6)
TURN = slice(4, 7)


def state(pose: Pose, **changes: object) -> RobotState:
    zeros = np.zeros(3)
    return replace(RobotState(1, pose, np.zeros(7), np.zeros(7), zeros, zeros, 0.04, None), **changes)


def turned(angle: float, axis: tuple[float, float, float], sign: float = 1.0) -> RobotState:
    pose = ROBOT.reference.moved(np.zeros(3), angle * np.asarray(axis) / np.linalg.norm(axis))
    return state(Pose(pose.position, sign * pose.quaternion))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, -3)])
def test_the_rotation_is_continuous_through_half_a_turn_whatever_the_quaternion_s_sign(axis) -> None:
    before, values = None, []
    angles = np.arange(0.0, 2 * np.pi + 0.5, 0.02)
    for i, angle in enumerate([*angles, *angles[::-1]]):
        before = proprioception(turned(angle, axis, (-1.0) ** i), ROBOT.reference, STILL, before)
        values.append(before[TURN])
    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    assert steps.max() < 0.021
    assert np.linalg.norm(values[len(angles) - 1]) == pytest.approx(angles[-1], abs=1e-5)
    np.testing.assert_allclose(values[-1], 0.0, atol=1e-5)


def test_without_what_came_before_the_shortest_rotation_is_given() -> None:
    values = proprioception(turned(np.pi + 0.1, (0, 0, 1)), ROBOT.reference, STILL)
    assert values[6] == pytest.approx(-np.pi + 0.1, abs=1e-5)


@given(
    st.tuples(*[st.floats(-0.9, 0.9)] * 3).map(np.array),
    st.tuples(*[st.floats(-0.9, 0.9)] * 3).map(np.array),
)
def test_near_the_reference_the_past_changes_not_a_bit(now: np.ndarray, past: np.ndarray) -> None:
    here, there = (state(ROBOT.reference.moved(np.zeros(3), turn)) for turn in (now, past))
    before = proprioception(there, ROBOT.reference, STILL)
    alone = proprioception(here, ROBOT.reference, STILL)
    assert alone.tobytes() == proprioception(here, ROBOT.reference, STILL, before).tobytes()


@given(st.tuples(*[st.floats(-3.2, 3.2)] * 3).map(np.array), st.tuples(*[st.floats(-7, 7)] * 3).map(np.array))
def test_what_is_continued_is_the_same_rotation(turn: np.ndarray, past: np.ndarray) -> None:
    turn = Rotation.from_rotvec(turn).as_rotvec()
    chosen = continued(turn, past)
    assert (Rotation.from_rotvec(chosen) * Rotation.from_rotvec(turn).inv()).magnitude() < 1e-6
    assert np.linalg.norm(chosen - past) <= np.linalg.norm(turn - past) + 1e-9


def test_what_is_not_finite_is_named() -> None:
    bad = state(ROBOT.reference, force=np.array([0.0, np.nan, 0.0]), gripper_width=float("inf"))
    with pytest.raises(ValueError, match="not finite in gripper_width, fy"):
        proprioception(bad, ROBOT.reference, STILL)


def test_position_is_relative_to_the_reference() -> None:
    moved = state(Pose.of(np.array(ROBOT.reference_pose.position) + [0.01, -0.02, 0.03], ROBOT.reference.quaternion))
    values = dict(zip(PROPRIO_NAMES, proprioception(moved, ROBOT.reference, STILL).tolist(), strict=True))
    assert [values[n] for n in "xyz"] == pytest.approx([0.01, -0.02, 0.03])
    assert [values[n] for n in ("rx", "ry", "rz")] == pytest.approx([0.0] * 3, abs=1e-9)

"""Actions, poses and proprioception: one frame, and back again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.robot.action_space import clip_reference
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose, same_sign
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.types import PROPRIO_NAMES

ROBOT = load_robot()
SPACE = ROBOT.action_space
unit = st.floats(-1.0, 1.0)
YAWED = Pose.of([0.5, 0.0, 0.1], [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])


@given(st.lists(unit, min_size=6, max_size=6), st.sampled_from([ROBOT.reference, YAWED]))
def test_the_action_of_a_target_reproduces_it(values: list[float], anchor: Pose) -> None:
    action = np.array([*values, -1.0], dtype=np.float32)
    target = SPACE.target(anchor, action)
    np.testing.assert_allclose(SPACE.action(anchor, target, -1.0), action, atol=1e-6)


def test_a_push_along_x_moves_along_the_base_axis_whatever_the_yaw() -> None:
    """Field report B07: a human command in the wrong frame."""
    push = np.array([1.0, 0, 0, 0, 0, 0, 1], dtype=np.float32)
    for anchor in (ROBOT.reference, YAWED):
        np.testing.assert_allclose(SPACE.target(anchor, push).position - anchor.position, [0.005, 0, 0], atol=1e-15)


def test_references_are_clipped_into_the_reach_of_a_bounded_actor() -> None:
    clipped = clip_reference(np.array([[2.0, -2.0, 0.5]]))
    np.testing.assert_allclose(clipped, [[0.98, -0.98, 0.5]])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        clip_reference(np.array([[0.0, np.nan]]))


@pytest.mark.parametrize(
    "position, quaternion", [([0, 0], [0, 0, 0, 1]), ([0, 0, 0], [0, 0, 0, 0]), ([0, 0, np.nan], [0, 0, 0, 1])]
)
def test_what_is_not_a_pose(position: list[float], quaternion: list[float]) -> None:
    with pytest.raises(ValueError, match="not a pose"):
        Pose.of(position, quaternion)


def test_same_sign() -> None:
    q = np.array([0.0, 0.0, 0.0, 1.0])
    assert same_sign(-q, q).tolist() == q.tolist()
    assert same_sign(q, q).tolist() == q.tolist()


def test_proprioception_has_its_named_layout() -> None:
    pose = Pose.of(np.array(ROBOT.reference.position) + [0.01, 0.02, 0.03], ROBOT.reference.quaternion)
    state = RobotState(1, pose, np.zeros(7), np.zeros(7), np.array([4.0, 5, 6]), np.array([7.0, 8, 9]), 0.04, None)
    values = dict(zip(PROPRIO_NAMES, proprioception(state, ROBOT.reference, np.arange(6.0)).tolist(), strict=True))
    assert values["gripper_width"] == pytest.approx(0.04)
    assert [values[n] for n in ("x", "y", "z")] == pytest.approx([0.01, 0.02, 0.03])
    assert [values[n] for n in ("vx", "wz", "fx", "tz")] == pytest.approx([0.0, 5.0, 4.0, 9.0])
    with pytest.raises(ValueError, match="finite"):
        proprioception(state, ROBOT.reference, np.full(6, np.nan))

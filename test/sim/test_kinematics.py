from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot import kinematics
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.peg import PegInsertion


def postures(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(kinematics.LOWER, kinematics.UPPER, (n, 7))


def test_forward_of_franka_ready_posture() -> None:
    # Values that franka_ros reports for the ready posture with the hand.
    pose = kinematics.forward(kinematics.READY)
    np.testing.assert_allclose(pose.position, [0.3069, 0.0, 0.4869], atol=1e-3)
    np.testing.assert_allclose(np.abs(pose.quaternion), [1, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("q", postures(10))
def test_forward_agrees_with_the_scene(world: PegInsertion, q: np.ndarray) -> None:
    world.data.qpos[:] = q
    mujoco.mj_kinematics(world.model, world.data)
    site = world.data.site("tool")
    pose = kinematics.forward(q)
    np.testing.assert_allclose(pose.position, site.xpos, atol=1e-9)
    np.testing.assert_allclose(pose.rotation.as_matrix(), site.xmat.reshape(3, 3), atol=1e-9)


@pytest.mark.parametrize("q", postures(10))
def test_jacobian_is_the_derivative_of_forward(q: np.ndarray) -> None:
    h = 1e-6
    columns = [np.concatenate(kinematics.forward(q - d).to(kinematics.forward(q + d))) / (2 * h) for d in h * np.eye(7)]
    np.testing.assert_allclose(kinematics.jacobian(q), np.array(columns).T, atol=1e-8)


def test_jacobian_agrees_with_the_scene(world: PegInsertion) -> None:
    q = postures(1)[0]
    world.data.qpos[:] = q
    mujoco.mj_forward(world.model, world.data)
    linear, angular = np.zeros((3, 7)), np.zeros((3, 7))
    mujoco.mj_jacSite(world.model, world.data, linear, angular, world.model.site("tool").id)
    np.testing.assert_allclose(kinematics.jacobian(q), np.vstack([linear, angular]), atol=1e-9)


def test_tool_twist_is_along_base_axes() -> None:
    # Only joint 1 turns: the tool circles about the base's z axis.
    twist = kinematics.tool_twist(kinematics.READY, np.array([0.5, 0, 0, 0, 0, 0, 0]))
    x = kinematics.forward(kinematics.READY).position[0]
    np.testing.assert_allclose(twist, [0, 0.5 * x, 0, 0, 0, 0.5], atol=1e-12)


def test_inverse_returns_to_the_pose() -> None:
    pose = Pose.of([0.5, 0.05, 0.14], [0.999, 0.01, 0.02, -0.01])
    q = kinematics.inverse(pose, kinematics.READY)
    assert np.linalg.norm(np.concatenate(kinematics.forward(q).to(pose))) < 1e-7
    assert (q >= kinematics.LOWER).all() and (q <= kinematics.UPPER).all()


def test_inverse_refuses_what_is_out_of_reach() -> None:
    with pytest.raises(ValueError, match="no joint positions found"):
        kinematics.inverse(Pose.of([1.5, 0.0, 0.2], [1, 0, 0, 0]), kinematics.READY)


@pytest.mark.parametrize("q", [np.zeros(6), np.full(7, np.nan)])
def test_bad_joint_positions_are_refused(q: np.ndarray) -> None:
    with pytest.raises(ValueError, match="7 finite values"):
        kinematics.forward(q)

"""From deflections to the action space: shape, frames, saturation, and a stored action that reproduces the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from device_parts import pad
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rlt_ros.operator.devices.axes import action, saturated, shaped, turned, twist
from rlt_ros.operator.devices.frames import AxisFrame, carried_by_tool, tool_rotation
from rlt_ros.robot.config import CameraMount, RobotConfig, load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.strict import ConfigError

ROBOT = load_robot()
deflections = st.floats(-1.0, 1.0)
six = st.lists(deflections, min_size=6, max_size=6).map(np.array)
rotations = st.tuples(*[st.floats(-3.0, 3.0)] * 3).map(lambda v: Rotation.from_rotvec(v))
zones, curves = st.floats(0.0, 0.9), st.floats(1.0, 5.0)


@given(deflections, zones, curves)
def test_a_deflection_keeps_its_sign_and_its_range(value: float, zone: float, curve: float) -> None:
    out = shaped(value, zone, curve)
    assert -1.0 <= out <= 1.0 and out * value >= 0.0
    assert shaped(-value, zone, curve) == -out
    assert (out == 0.0) or abs(value) > zone


@given(deflections, deflections, zones, curves)
def test_more_deflection_is_never_less_motion(a: float, b: float, zone: float, curve: float) -> None:
    low, high = sorted((a, b))
    assert shaped(low, zone, curve) <= shaped(high, zone, curve)


@given(zones, curves)
def test_the_ends_are_reached_and_a_device_that_gives_more_than_its_full_is_at_the_end(
    zone: float, curve: float
) -> None:
    assert shaped(1.0, zone, curve) == pytest.approx(1.0)
    assert shaped(7.0, zone, curve) == pytest.approx(1.0)
    assert shaped(zone, zone, curve) == 0.0


@given(six, rotations)
def test_turning_the_axes_keeps_norms(values: np.ndarray, frame: Rotation) -> None:
    out = turned(values, frame)
    assert np.linalg.norm(out[:3]) == pytest.approx(np.linalg.norm(values[:3]), abs=1e-9)
    assert np.linalg.norm(out[3:]) == pytest.approx(np.linalg.norm(values[3:]), abs=1e-9)
    np.testing.assert_allclose(turned(out, frame.inv()), values, atol=1e-9)


@given(six, rotations)
def test_saturation_keeps_directions_and_the_range(values: np.ndarray, frame: Rotation) -> None:
    wide = turned(4.0 * values, frame)
    out = saturated(wide)
    assert np.abs(out).max() <= 1.0 + 1e-12
    for part in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(np.cross(out[part], wide[part]), 0.0, atol=1e-6)
        assert float(out[part] @ wide[part]) >= 0.0
        if np.abs(wide[part]).max() <= 1.0:
            np.testing.assert_array_equal(out[part], wide[part])


@given(six)
def test_a_tool_that_is_not_turned_has_the_base_axes(values: np.ndarray) -> None:
    base, tool = AxisFrame(pad(), ROBOT, "pad"), AxisFrame(pad(frame="tool"), ROBOT, "pad")
    assert tool.follows_tool and not base.follows_tool
    same = action([(values, tool.in_base(Rotation.identity()))], 0.0)
    np.testing.assert_allclose(same, action([(values, base.in_base(None))], 0.0), atol=1e-7)


@given(rotations, rotations)
def test_along_the_tools_axis_the_tool_moves(start: Rotation, turn: Rotation) -> None:
    """Whatever its orientation, a push along x of the tool moves it along its own x and turns nothing."""
    pose = Pose.of([0.5, 0.0, 0.2], start.as_quat())
    frame = AxisFrame(pad(frame="tool"), ROBOT, "pad").in_base(pose.rotation)
    target = ROBOT.action_space.target(pose, action([(np.array([0.5, 0, 0, 0, 0, 0.0]), frame)], 0.0))
    local = pose.rotation.inv().apply(target.position - pose.position)
    np.testing.assert_allclose(local, [0.5 * ROBOT.action_scale.translation, 0.0, 0.0], atol=1e-8)
    yaw = ROBOT.action_space.target(pose, action([(np.array([0, 0, 0, 0, 0, 0.5]), frame)], 0.0))
    local_turn = (pose.rotation.inv() * yaw.rotation).as_rotvec()
    np.testing.assert_allclose(local_turn, [0.0, 0.0, 0.5 * ROBOT.action_scale.rotation], atol=1e-8)


def test_the_tools_orientation_comes_out_of_an_observation() -> None:
    rng = np.random.default_rng(1)
    for turn in Rotation.random(20, random_state=1):
        pose = Pose.of([0.5, 0.1, 0.2], turn.as_quat())
        zero = np.zeros(7)
        state = RobotState(0, pose, zero, zero, np.zeros(3), np.zeros(3), 0.04, None)
        values = proprioception(state, ROBOT.reference, rng.normal(size=6))
        np.testing.assert_allclose(tool_rotation(values, ROBOT).as_matrix(), turn.as_matrix(), atol=1e-6)


def test_without_the_tools_orientation_nothing_moves() -> None:
    with pytest.raises(ValueError, match="the orientation of the tool is not known"):
        AxisFrame(pad(frame="tool"), ROBOT, "pad").in_base(None)


def with_camera(parent: str, turn: Rotation, frame: str = "front_link") -> RobotConfig:
    mount = CameraMount(parent, frame, (0.1, 0.2, 0.3), tuple(turn.as_quat()))
    return replace(ROBOT, camera_mounts={"front": mount})


CAMERA = pad(frame="camera", camera="front")
FORWARD = np.array([1.0, 0, 0, 0, 0, 0])


def test_a_fixed_camera_gives_its_own_axes() -> None:
    """A camera that faces the robot: what is forward for it is backward for the base."""
    robot = with_camera("fr3_link0", Rotation.from_euler("z", 180, degrees=True))
    frame = AxisFrame(CAMERA, robot, "pad")
    assert not frame.follows_tool
    np.testing.assert_allclose(turned(FORWARD, frame.in_base(None))[:3], [-1.0, 0.0, 0.0], atol=1e-12)


def test_an_optical_frame_means_the_same_camera() -> None:
    optical = Rotation.from_matrix([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    turn = Rotation.from_euler("zyx", [30, 20, 10], degrees=True)
    body = AxisFrame(CAMERA, with_camera("fr3_link0", turn), "pad").in_base(None)
    same = AxisFrame(CAMERA, with_camera("fr3_link0", turn * optical, "front_color_optical_frame"), "pad").in_base(None)
    np.testing.assert_allclose(same.as_matrix(), body.as_matrix(), atol=1e-12)


@pytest.mark.parametrize("parent, turn", [("fr3_hand_tcp", 0.0), ("fr3_hand", 0.0), ("fr3_link8", -45.0)])
def test_a_camera_on_the_hand_turns_with_the_tool(parent: str, turn: float) -> None:
    """The hand is turned by -45 degrees on the flange (franka_description)."""
    mount, tool = Rotation.from_euler("y", -90, degrees=True), Rotation.from_euler("x", 180, degrees=True)
    frame = AxisFrame(CAMERA, with_camera(parent, mount), "pad")
    assert frame.follows_tool
    expected = tool * Rotation.from_euler("z", -turn, degrees=True) * mount
    np.testing.assert_allclose(frame.in_base(tool).as_matrix(), expected.as_matrix(), atol=1e-12)


def test_frames_that_the_tool_carries_end_at_the_last_joint() -> None:
    assert list(carried_by_tool(ROBOT)) == ["fr3_hand_tcp", "fr3_hand", "fr3_link8", "fr3_link7"]


def test_a_camera_that_nobody_has_placed_is_refused_with_both_names() -> None:
    with pytest.raises(ConfigError, match="pad: camera is 'front'; camera_mounts of the robot config has none"):
        AxisFrame(CAMERA, ROBOT, "pad")
    with pytest.raises(ConfigError, match="camera 'front' stands in 'table'; expected one of fr3_link0, fr3_hand_tcp"):
        AxisFrame(CAMERA, with_camera("table", Rotation.identity()), "pad")


def test_axes_of_the_pad_are_those_of_its_mapping() -> None:
    device = pad(dead_zone=0.0, curve=1.0)
    out = twist(device, {0: 0.25, 1: 0.5, 3: 1.0, 4: -1.0, 7: 1.0})
    np.testing.assert_allclose(out, [0.5, 0.25, -1.0, 0.0, 0.0, 0.5])
    np.testing.assert_array_equal(twist(device, {}), np.zeros(6))

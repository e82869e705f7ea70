"""What a robot says of itself becomes one state, by name; whatever cannot be believed is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("franka_msgs.msg", reason="franka_msgs is not built here")
from robot_messages import FIRST_JOINTS, ROBOT, STAMP, messages

from rlt_ros.nodes import convert_robot
from rlt_ros.nodes.convert import BadMessage
from rlt_ros.nodes.convert_robot import robot_state, state_part, state_streams
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.state import RobotMode, RobotState

NAN = float("nan")


def having(source: str) -> RobotConfig:
    return replace(ROBOT, state=replace(ROBOT.state, source=source))


def state_from(robot: RobotConfig, report: bool = True) -> RobotState:
    given = messages()
    return robot_state({name: state_part(name, given[name], robot) for name in state_streams(robot, report)}, robot)


@pytest.mark.parametrize("source", ["topics", "robot_state"])
def test_both_sources_give_the_same_state(source: str) -> None:
    state = state_from(having(source))
    np.testing.assert_array_equal(state.joint_positions, FIRST_JOINTS)
    np.testing.assert_allclose(state.joint_velocities, FIRST_JOINTS / 10)
    np.testing.assert_array_equal(state.pose.position, ROBOT.reference.position)
    assert (state.force.tolist(), state.torque.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert (state.gripper_width, state.stamp) == (0.04, STAMP)
    assert (state.mode, state.error) == (RobotMode.REFLEX, True)
    assert state.errors == ("joint_reflex", "power_limit_violation")
    assert state.motion_errors == ("cartesian_reflex",)
    assert state.success_rate == pytest.approx(0.91)


def test_from_robot_state_only_the_gripper_is_asked_for_besides() -> None:
    assert list(state_streams(having("robot_state"), report=False)) == ["gripper_joint_states", "robot_state"]


def test_standard_topics_alone_know_no_mode() -> None:
    state = state_from(having("standard"))
    assert (state.mode, state.error, state.success_rate) == (None, False, None)


def test_a_robot_without_a_hand_needs_no_finger_topic() -> None:
    handless = replace(having("standard"), finger_joint_names=())
    assert "gripper_joint_states" not in state_streams(handless)
    assert state_from(handless).gripper_width == ROBOT.gripper.closed_width


def test_without_franka_msgs_the_source_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert_robot, "FrankaRobotState", None)
    assert "robot_state" not in state_streams(having("topics"))
    with pytest.raises(ValueError, match="state.source is robot_state, which needs franka_msgs"):
        state_streams(having("robot_state"))


def spoil(change: Callable[[dict[str, Any]], None], stream: str, robot: RobotConfig = ROBOT) -> str:
    given = messages()
    change(given)
    with pytest.raises(BadMessage) as refused:
        state_part(stream, given[stream], robot)
    return str(refused.value)


def set_position(values: list[float]) -> Callable[[dict[str, Any]], None]:
    return lambda m: setattr(m["joint_states"], "position", values)


@pytest.mark.parametrize(
    "change, stream, words",
    [
        (set_position([NAN] * 8), "joint_states", "position is not finite"),
        (set_position([1.0] * 7), "joint_states", "position has 7 values for 8 joint names"),
        (
            lambda m: setattr(m["joint_states"], "name", [f"panda_joint{i}" for i in range(8)]),
            "joint_states",
            "joint 'fr3_joint1' is missing; message has ['panda_joint0'",
        ),
        (lambda m: setattr(m["joint_states"], "velocity", []), "joint_states", "velocity has 0 values"),
        (lambda m: setattr(m["current_pose"].pose.position, "x", NAN), "current_pose", "not a pose"),
        (lambda m: setattr(m["current_pose"].pose.orientation, "x", 0.0), "current_pose", "not a pose"),
        (lambda m: setattr(m["current_pose"].header, "frame_id", "world"), "current_pose", "'world'; expected 'fr3_"),
        (lambda m: setattr(m["external_wrench"].wrench.force, "y", NAN), "external_wrench", "force is not finite"),
        (lambda m: setattr(m["external_wrench"].wrench.torque, "z", NAN), "external_wrench", "torque is not finite"),
        (lambda m: setattr(m["external_wrench"].header, "frame_id", "fr3_K"), "external_wrench", "frame is 'fr3_K'"),
        (lambda m: setattr(m["robot_state"], "robot_mode", 17), "robot_state", "robot_mode is 17"),
        (lambda m: setattr(m["gripper_joint_states"], "position", [NAN, 0.0]), "gripper_joint_states", "not finite"),
    ],
)
def test_bad_messages_are_refused_by_name(change: Callable[[dict[str, Any]], None], stream: str, words: str) -> None:
    assert words in spoil(change, stream)


def test_a_bad_report_is_refused_where_all_comes_from_it() -> None:
    def lose_frame(m: dict[str, Any]) -> None:
        m["robot_state"].o_t_ee.header.frame_id = "base"

    assert "frame is 'base'; expected 'fr3_link0'" in spoil(lose_frame, "robot_state", having("robot_state"))

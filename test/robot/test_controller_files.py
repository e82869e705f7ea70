"""The controllers' parameter files that come with the package name what the robot config names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rlt_ros.robot.config import RobotConfig, load_robot

FOLDER = Path(__file__).parents[2] / "config/franka"


def nodes_of(name: str) -> dict[str, dict[str, Any]]:
    """Node name to parameters."""
    return {node: part["ros__parameters"] for node, part in yaml.safe_load((FOLDER / name).read_text())["/**"].items()}


def check_manager(nodes: dict[str, dict[str, Any]], robot: RobotConfig, controller: str) -> dict[str, Any]:
    """The manager knows the controller and whoever publishes the state; returns the controller's parameters."""
    types = {name: value["type"] for name, value in nodes["controller_manager"].items() if isinstance(value, dict)}
    publishers = {topic.split("/")[0] for topic in (robot.topics.current_pose, robot.topics.external_wrench)}
    assert publishers <= set(types) and controller in types
    assert nodes[controller]["joints"] == list(robot.joint_names)
    return nodes[controller]


def test_crisp() -> None:
    robot, nodes = load_robot("fr3_crisp"), nodes_of("crisp.yaml")
    controller = check_manager(nodes, robot, "cartesian_impedance_controller")
    assert controller["base_frame"] == robot.base_frame
    assert controller["end_effector_frame"] == robot.tool_frame


def test_joint_trajectory() -> None:
    robot, nodes = load_robot("fr3_joint_trajectory"), nodes_of("joint_trajectory.yaml")
    name, topic = robot.topics.joint_trajectory.split("/")
    controller = check_manager(nodes, robot, name)
    assert topic == "joint_trajectory" and controller["gains"].keys() == set(robot.joint_names)


@pytest.mark.parametrize("file", ["crisp.yaml", "joint_trajectory.yaml"])
def test_numbers_are_doubles_where_ros_wants_doubles(file: str) -> None:
    for node, parameters in nodes_of(file).items():
        if node.endswith("controller"):
            assert not [path for path in integers(parameters)], file


def integers(values: Any) -> list[int]:
    """All integers below a mapping: the controllers declare none."""
    if isinstance(values, dict):
        return [found for value in values.values() for found in integers(value)]
    return [values] if isinstance(values, int) and not isinstance(values, bool) else []

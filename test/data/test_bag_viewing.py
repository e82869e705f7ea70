"""A bag that is shown moves nothing (field report B36): what keeps its name, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.viewing import state_topics, topics_of, view
from rlt_ros.robot.config import load_robot

ROBOT = load_robot()
TOPICS = {
    "/clock": "rosgraph_msgs/msg/Clock",
    "/front/color/image_raw": "sensor_msgs/msg/Image",
    "/franka_robot_state_broadcaster/current_pose": "geometry_msgs/msg/PoseStamped",
    "/franka_robot_state_broadcaster/measured_joint_states": "sensor_msgs/msg/JointState",
    "/joint_command": "sensor_msgs/msg/JointState",
    "/parameter_events": "rcl_interfaces/msg/ParameterEvent",
    "/rlt/action_chunk": "rlt_ros/msg/ActionChunk",
    "/rlt/executed_step": "rlt_ros/msg/ExecutedStep",
    "/rlt/features": "rlt_ros/msg/Features",
    "/rlt/human_action": "rlt_ros/msg/HumanAction",
    "/rlt/learner_stats": "rlt_ros/msg/LearnerStats",
    "/rlt/markers": "visualization_msgs/msg/MarkerArray",
    "/rlt/observation": "rlt_ros/msg/Observation",
    "/rlt/policy_mode": "rlt_ros/msg/PolicyMode",
    "/rlt/policy_weights": "rlt_ros/msg/PolicyWeights",
    "/rlt/transition": "rlt_ros/msg/Transition",
    "/target_pose": "geometry_msgs/msg/PoseStamped",
    "/tf": "tf2_msgs/msg/TFMessage",
}
KEPT = {
    "/clock", "/front/color/image_raw", "/franka_robot_state_broadcaster/current_pose",
    "/franka_robot_state_broadcaster/measured_joint_states", "/rlt/learner_stats", "/rlt/markers", "/tf",
}  # fmt: skip


def test_displays_get_what_they_know_and_nobody_gets_a_command() -> None:
    shown = view(TOPICS, state_topics(ROBOT, ""), live=False)
    assert set(shown.exclude) == {"/parameter_events"}
    assert set(TOPICS) - set(shown.remap) - set(shown.exclude) == KEPT
    assert shown.remap["/target_pose"] == "/replay/target_pose"
    assert not shown.clock  # the bag has one


def test_beside_a_run_nothing_keeps_its_name() -> None:
    shown = view(TOPICS, state_topics(ROBOT, ""), live=True)
    assert set(shown.exclude) == {"/parameter_events", "/clock"}
    assert set(shown.remap) == set(TOPICS) - set(shown.exclude)
    assert not shown.clock


def test_a_bag_without_a_clock_gets_one() -> None:
    assert view({"/tf": "tf2_msgs/msg/TFMessage"}, set(), live=False).clock


def test_state_topics_are_under_the_robots_namespace() -> None:
    names = state_topics(ROBOT, "left")
    assert {"/left/front/color/image_raw", "/left/robot_description"} <= names
    assert "/left/target_pose" not in names


def test_a_folder_that_is_no_bag(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="metadata.yaml: cannot be read as a bag's metadata: FileNotFoundError"):
        topics_of(tmp_path)

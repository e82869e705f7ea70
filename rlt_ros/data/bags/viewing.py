"""How a bag is shown without anything in it reaching a robot (field report B36)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.profile import absolute
from rlt_ros.robot.config import RobotConfig

PREFIX = "/replay"
"""Beneath it goes what somebody could take for a command, or for the state of a robot that is there."""
SHOWN = frozenset(
    {
        "diagnostic_msgs/msg/DiagnosticArray",
        "rosgraph_msgs/msg/Clock",
        "sensor_msgs/msg/CameraInfo",
        "sensor_msgs/msg/CompressedImage",
        "sensor_msgs/msg/Image",
        "sensor_msgs/msg/PointCloud2",
        "tf2_msgs/msg/TFMessage",
        *(f"rlt_ros/msg/{name}" for name in ("ActorStats", "LearnerStats", "LinkStats", "OperatorStatus", "SimTruth")),
    }
)
"""Types that only displays listen to, where no run is under way."""
STATE_TOPICS = (
    "joint_states", "current_pose", "external_wrench", "robot_state", "gripper_joint_states", "robot_description",
)  # fmt: skip
"""Keys of `topics` in the robot config that say how the robot is, and tell it nothing."""


@dataclass(frozen=True)
class View:
    """remap: topics under other names. clock: whether the player has to make /clock. exclude: not played."""

    remap: Mapping[str, str]
    clock: bool
    exclude: Collection[str]


def topics_of(bag: Path) -> dict[str, str]:
    """Topics of a bag with their types, from its metadata. Raises BagError."""
    path = bag / "metadata.yaml"
    try:
        listed = yaml.safe_load(path.read_text())["rosbag2_bagfile_information"]["topics_with_message_count"]
        return {topic["topic_metadata"]["name"]: topic["topic_metadata"]["type"] for topic in listed}
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise BagError(f"{path}: cannot be read as a bag's metadata: {type(error).__name__}: {error}") from error


def state_topics(robot: RobotConfig, robot_namespace: str) -> set[str]:
    """Absolute names of what a robot and its cameras publish."""
    names = [getattr(robot.topics, name) for name in STATE_TOPICS]
    return {absolute(robot_namespace, name) for name in [*names, *robot.cameras.values()] if name}


def view(topics: Mapping[str, str], harmless: Collection[str], live: bool) -> View:
    """How the topics of a bag are played. harmless: of the robot's state. live: a run or a robot is in this graph; then
    nothing keeps its name, because replayed state is as bad for it as a replayed command.
    """
    exclude = [topic for topic in topics if topic == "/parameter_events" or (live and topic == "/clock")]
    keep = set() if live else {t for t, kind in topics.items() if kind in SHOWN or kind.startswith("visualization_")}
    keep |= set() if live else set(harmless)
    remap = {topic: PREFIX + topic for topic in topics if topic not in keep and topic not in exclude}
    return View(remap, clock=not live and "/clock" not in topics, exclude=exclude)

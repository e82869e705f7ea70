"""Which topics of a run are recorded, and with which quality of service: config/record/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlt_ros.robot.config import RobotConfig
from rlt_ros.strict import ConfigError, load


@dataclass(frozen=True)
class RecordProfile:
    """Topics by the names that they have in this package.

    own: under its namespace. robot: keys of `topics` in the robot config. cameras: pictures and camera_info of all.
    others: absolute names. qos: profiles by a name above, as `ros2 bag record --qos-profile-overrides-path` reads them.
    """

    own: list[str]
    robot: list[str] = field(default_factory=list)
    cameras: bool = False
    others: list[str] = field(default_factory=list)
    qos: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """Absolute names of topics, and QoS profiles by such a name."""

    topics: list[str]
    qos: dict[str, dict[str, Any]]


def load_profile(path: Path) -> RecordProfile:
    """A profile. Raises ConfigError with file and key."""
    return load(RecordProfile, path)


def resolve(profile: RecordProfile, robot: RobotConfig, namespace: str, robot_namespace: str) -> Recorded:
    """The topics of a run. Raises ConfigError on a name that the robot config lacks or that no topic has."""
    known = vars(robot.topics)
    unknown = [name for name in profile.robot if name not in known]
    if unknown:
        raise ConfigError(f"robot: {unknown[0]!r} is no topic of the robot config; known are {', '.join(known)}")
    names = {name: absolute(namespace, name) for name in profile.own}
    names |= {name: absolute(robot_namespace, known[name]) for name in profile.robot if known[name]}
    names |= {name: name for name in profile.others}
    for camera, topic in robot.cameras.items() if profile.cameras else ():
        names[camera] = absolute(robot_namespace, topic)
        names[f"{camera}_info"] = names[camera].rpartition("/")[0] + "/camera_info"
    strange = sorted(set(profile.qos) - set(names))
    if strange:
        raise ConfigError(f"qos: {strange[0]!r} is none of the recorded topics: {', '.join(names)}")
    qos = {names[name]: dict(values) for name, values in profile.qos.items()}
    return Recorded(sorted(set(names.values())), qos)


def absolute(namespace: str, name: str) -> str:
    """Name of a topic under a namespace."""
    return "/" + "/".join(part.strip("/") for part in (namespace, name) if part.strip("/"))

"""The shipped views name the default topics, so that each opens as it is; here they get those of another robot."""

from __future__ import annotations

import re

from rlt_ros.robot.config import RobotConfig, load_robot

NAMESPACE = "rlt"
"""In the shipped files."""


def renamed(text: str, robot: RobotConfig, namespace: str, robot_namespace: str) -> str:
    """A view's file for a robot: topics of this package under `namespace`, the robot's own under `robot_namespace`.

    Cameras take the place of the shipped ones in their order; where a robot has fewer, the last places stay empty.
    """
    shipped = load_robot()
    pairs = {f"/{NAMESPACE}/": _absolute(namespace, ""), shipped.base_frame: robot.base_frame}
    for name in ("robot_description", "external_wrench"):
        own = getattr(robot.topics, name)
        pairs[_absolute("", getattr(shipped.topics, name))] = _absolute(robot_namespace, own)
    for old, new in zip(shipped.cameras.values(), robot.cameras.values()):
        pairs[_absolute("", old)] = _absolute(robot_namespace, new)
    longest_first = sorted(pairs, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda found: pairs[found.group()], text)


def _absolute(namespace: str, topic: str) -> str:
    parts = [part.strip("/") for part in (namespace, topic) if part.strip("/")]
    return "/" + "/".join(parts) + ("/" if parts and not topic else "")

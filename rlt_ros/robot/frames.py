"""Frames of a URDF: what robot_state_publisher makes of it and of joint positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.pose import Pose

TURNING, SLIDING = ("revolute", "continuous"), ("prismatic",)


@dataclass(frozen=True)
class Transform:
    """Pose of a child frame in its parent frame."""

    parent: str
    child: str
    pose: Pose


@dataclass(frozen=True)
class _Joint:
    name: str
    kind: str
    parent: str
    child: str
    position: np.ndarray
    rotation: Rotation
    axis: np.ndarray

    def at(self, value: float) -> Transform:
        """The child's pose with the joint at a value in rad or m."""
        position, rotation = self.position, self.rotation
        if self.kind in TURNING:
            rotation = rotation * Rotation.from_rotvec(value * self.axis)
        elif self.kind in SLIDING:
            position = position + rotation.apply(value * self.axis)
        return Transform(self.parent, self.child, Pose.of(position, rotation.as_quat()))


class FrameTree:
    """The joints of a URDF. Raises ValueError if it is none."""

    def __init__(self, description: str) -> None:
        try:
            robot = Xml.fromstring(description)
            self._joints = [_joint(element) for element in robot.iter("joint") if element.find("parent") is not None]
        except (Xml.ParseError, AttributeError, TypeError, KeyError, ValueError) as error:
            raise ValueError(f"robot description: not a URDF: {error}") from error

    def static(self) -> list[Transform]:
        """Transforms that no joint changes."""
        return [joint.at(0.0) for joint in self._joints if joint.kind not in (*TURNING, *SLIDING)]

    def moving(self, positions: Mapping[str, float]) -> list[Transform]:
        """Transforms of the joints whose positions (rad or m) are given by name."""
        return [joint.at(positions[joint.name]) for joint in self._joints if joint.name in positions]


def _joint(element: Xml.Element) -> _Joint:
    origin, axis = element.find("origin"), element.find("axis")
    place = {} if origin is None else origin.attrib
    return _Joint(
        element.attrib["name"],
        element.attrib["type"],
        element.find("parent").attrib["link"],
        element.find("child").attrib["link"],
        _vector(place.get("xyz", "0 0 0")),
        Rotation.from_euler("xyz", _vector(place.get("rpy", "0 0 0"))),
        _vector("1 0 0" if axis is None else axis.attrib["xyz"]),
    )


def _vector(text: str) -> np.ndarray:
    values = np.array([float(value) for value in text.split()])
    if values.shape != (3,):
        raise ValueError(f"{text!r} are not three numbers")
    return values

"""The arm as URDF: kinematics of the FR3 with the Franka hand, without meshes.

Source: Franka Robotics, "Robot and interface specifications", Denavit-Hartenberg parameters in Craig's convention, and
franka_description's hand (turned by -45 degrees on the flange, tool centre point 0.1034 m beyond it).
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

import numpy as np

from rlt_ros.robot.limits import JointLimits

# a (m), d (m), alpha (rad) of each joint.
DH = np.array(
    [
        (0.0, 0.333, 0.0),
        (0.0, 0.0, -np.pi / 2),
        (0.0, 0.316, np.pi / 2),
        (0.0825, 0.0, np.pi / 2),
        (-0.0825, 0.384, -np.pi / 2),
        (0.0, 0.0, np.pi / 2),
        (0.088, 0.0, np.pi / 2),
    ]
)
FLANGE = 0.107
"""Distance in metres from the last joint's frame to the flange, along its z axis."""
HAND_TCP = 0.1034
"""Distance in metres from the flange, which is also the hand's frame, to the tool centre point."""
HAND_TURN = -np.pi / 4
"""Angle in radians by which the hand is turned on the flange."""
FINGER_ROOT = 0.0584
"""Distance in metres from the hand's frame to the fingers' frames, along its z axis."""
FINGER_TRAVEL = 0.04
"""How far one finger moves, in metres; the width of the gripper is twice that."""
EFFORT = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
"""Largest joint torques in Nm."""
# Length in m of a bar that stands for a link, from its joint's frame along its z axis.
_BARS = (-0.333, 0.12, -0.316, 0.1, -0.26, 0.08, 0.107)


def urdf(
    joint_names: Sequence[str],
    finger_names: Sequence[str],
    base_frame: str,
    tool_frame: str,
    limits: JointLimits,
) -> str:
    """URDF of arm and hand; links are named as the base frame is, `<prefix>link0` and so on.

    joint_names: seven. finger_names: two. limits: of the seven joints.
    """
    prefix = base_frame.removesuffix("link0")
    robot = Xml.Element("robot", name=prefix.rstrip("_") or "arm")
    links = [base_frame, *(f"{prefix}link{i}" for i in range(1, 8))]
    Xml.SubElement(robot, "link", name=base_frame)
    for i, (name, (a, d, alpha)) in enumerate(zip(joint_names, DH)):
        _bar(Xml.SubElement(robot, "link", name=links[i + 1]), _BARS[i])
        joint = _joint(
            robot, name, "revolute", links[i], links[i + 1], (a, -d * np.sin(alpha), d * np.cos(alpha)), alpha
        )
        _limit(joint, limits.lower[i], limits.upper[i], limits.velocity[i], EFFORT[i])
    _fixed(robot, f"{prefix}link8", links[-1], FLANGE)
    _fixed(robot, f"{prefix}hand", f"{prefix}link8", 0.0, HAND_TURN)
    _fixed(robot, tool_frame, f"{prefix}hand", HAND_TCP)
    for name, link, turn in zip(finger_names, ("leftfinger", "rightfinger"), (0.0, np.pi)):
        Xml.SubElement(robot, "link", name=f"{prefix}{link}")
        joint = _joint(
            robot, name, "prismatic", f"{prefix}hand", f"{prefix}{link}", (0, 0, FINGER_ROOT), yaw=turn, axis="0 1 0"
        )
        _limit(joint, 0.0, FINGER_TRAVEL, 0.2, 70.0)
    Xml.indent(robot)
    return '<?xml version="1.0"?>\n' + Xml.tostring(robot, encoding="unicode") + "\n"


def _fixed(robot: Xml.Element, link: str, parent: str, height: float, turn: float = 0.0) -> None:
    Xml.SubElement(robot, "link", name=link)
    _joint(robot, f"{link}_joint", "fixed", parent, link, (0, 0, height), yaw=turn)


def _joint(
    robot: Xml.Element,
    name: str,
    kind: str,
    parent: str,
    child: str,
    place: Sequence[float],
    roll: float = 0.0,
    yaw: float = 0.0,
    axis: str = "0 0 1",
) -> Xml.Element:
    joint = Xml.SubElement(robot, "joint", name=name, type=kind)
    Xml.SubElement(joint, "parent", link=parent)
    Xml.SubElement(joint, "child", link=child)
    Xml.SubElement(
        joint, "origin", xyz=" ".join(repr(float(v)) for v in place), rpy=f"{float(roll)!r} 0 {float(yaw)!r}"
    )
    if kind != "fixed":
        Xml.SubElement(joint, "axis", xyz=axis)
    return joint


def _limit(joint: Xml.Element, lower: float, upper: float, velocity: float, effort: float) -> None:
    values = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
    Xml.SubElement(joint, "limit", {name: repr(float(value)) for name, value in values.items()})


def _bar(link: Xml.Element, length: float) -> None:
    visual = Xml.SubElement(link, "visual")
    Xml.SubElement(visual, "origin", xyz=f"0 0 {length / 2!r}", rpy="0 0 0")
    Xml.SubElement(Xml.SubElement(visual, "geometry"), "cylinder", radius="0.05", length=repr(abs(length)))

"""Settings of the command back-ends, part of the robot config."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rlt_ros.robot.sections import one_of

HORIZON = 0.2
"""Nothing is sent further ahead than this, in seconds."""
BACKENDS = ("cartesian_pose", "joint_trajectory", "twist")
UNITS = ("speed", "unitless")


@dataclass(frozen=True)
class CartesianPose:
    """crisp_controllers. stiffness: N/m along and Nm/rad about the axes, sent once; empty: as the controller has it."""

    stiffness: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.stiffness) not in (0, 6):
            raise ValueError(f"stiffness has {len(self.stiffness)} values; expected 6, or none to leave it alone")
        if not all(math.isfinite(value) and value >= 0.0 for value in self.stiffness):
            raise ValueError(f"stiffness is {list(self.stiffness)}; expected values from 0 on")


@dataclass(frozen=True)
class JointTrajectory:
    """joint_trajectory_controller.

    lead: s, how much later than it is due a set-point is reached. joint_margin: rad, kept from the joints' ends.
    velocity_scale: part of the arm's velocity limits that is used. largest_step: rad, of any joint between a set-point
    and the next. manipulability: smallest singular value of the Jacobian below which the arm holds.
    posture_gain: part of its way back to the ready posture that the elbow goes with every set-point.
    """

    lead: float
    joint_margin: float
    velocity_scale: float
    largest_step: float
    manipulability: float
    posture_gain: float

    def __post_init__(self) -> None:
        _within("lead", self.lead, HORIZON)
        _within("velocity_scale", self.velocity_scale, 1.0)


@dataclass(frozen=True)
class Twist:
    """MoveIt Servo, told to take twists.

    lead: s, in which the distance to a set-point is made up. units: as Servo's command_in_type. linear_scale (m/s),
    rotational_scale (rad/s): as Servo's scale; the fastest twists that it takes, and their unit with `unitless`. drift:
    m, drift_rotation: rad, between the measured pose and the one that was commanded; beyond it the measured one counts.
    """

    lead: float
    units: str
    linear_scale: float
    rotational_scale: float
    drift: float
    drift_rotation: float

    def __post_init__(self) -> None:
        _within("lead", self.lead, HORIZON)
        one_of("units", self.units, UNITS)


@dataclass(frozen=True)
class Command:
    """Which back-end, and each one's settings. rate: Hz, of set-points in real time."""

    backend: str
    rate: float
    cartesian_pose: CartesianPose
    joint_trajectory: JointTrajectory
    twist: Twist

    def __post_init__(self) -> None:
        one_of("backend", self.backend, BACKENDS)
        _within("rate", self.rate, 1000.0)


def _within(name: str, value: float, limit: float) -> None:
    if not 0.0 < value <= limit:
        raise ValueError(f"{name} is {value}; expected more than 0 and at most {limit:g}")

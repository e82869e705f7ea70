"""Measured states of a simulated arm that the tests of the command back-ends share."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot import kinematics
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState

AT_HOME = kinematics.inverse(Pose.of([0.5, 0.0, 0.16], [1.0, 0.0, 0.0, 0.0]), kinematics.READY)
HOME = kinematics.forward(AT_HOME)


def measured(q: np.ndarray = AT_HOME, pose: Pose | None = None) -> RobotState:
    """An arm at joint positions (7,) that measures its pose rightly, unless another one is given."""
    still = np.zeros(3)
    pose = kinematics.forward(q) if pose is None else pose
    return RobotState(0, pose, np.array(q), np.zeros(7), still, still, 0.016, RobotMode.MOVE)


def step(pose: Pose, x: float = 0.0, y: float = 0.0, z: float = 0.0, turn: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Pose:
    """A pose moved along (m) and about (rad) the base axes."""
    return pose.moved(np.array([x, y, z]), np.array(turn))


def far(pose: Pose, other: Pose) -> float:
    """Distance of two poses, m and rad together."""
    return float(np.linalg.norm(np.concatenate(pose.to(other))))

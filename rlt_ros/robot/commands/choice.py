"""The back-end that a robot config asks for."""

from __future__ import annotations

from rlt_ros.robot.commands.base import Backend
from rlt_ros.robot.commands.cartesian_pose import CartesianPoseBackend
from rlt_ros.robot.commands.twist import TwistBackend
from rlt_ros.robot.config import RobotConfig


def backend_of(robot: RobotConfig) -> Backend:
    """A new back-end. Raises ImportError naming the package that it needs and that is not installed."""
    if robot.command.backend == "cartesian_pose":
        return CartesianPoseBackend()
    if robot.command.backend == "twist":
        return TwistBackend(robot)
    # Only here: it needs pinocchio.
    from rlt_ros.robot.commands.joint_trajectory import JointTrajectoryBackend

    return JointTrajectoryBackend(robot)

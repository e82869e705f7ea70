"""Commands of the joint back-ends to messages and back; the other half of `convert`."""

from __future__ import annotations

from array import array

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist, TwistStamped, Vector3
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rlt_ros.nodes.convert import BadMessage, header, stamp_of
from rlt_ros.robot.commands.base import Trajectory

_NANOSECONDS = 1_000_000_000


def trajectory_to_message(trajectory: Trajectory, stamp: int, frame_id: str) -> JointTrajectory:
    """trajectory_msgs/JointTrajectory; stamp: ns, 0 means that it starts when it arrives."""
    rows = zip(trajectory.times, trajectory.positions, trajectory.velocities)
    points = [_point(float(time), position, velocity) for time, position, velocity in rows]
    return JointTrajectory(header=header(stamp, frame_id), joint_names=list(trajectory.names), points=points)


def _point(time: float, position: np.ndarray, velocity: np.ndarray) -> JointTrajectoryPoint:
    seconds, nanoseconds = divmod(round(time * _NANOSECONDS), _NANOSECONDS)
    return JointTrajectoryPoint(
        positions=array("d", position.tolist()),
        velocities=array("d", velocity.tolist()),
        time_from_start=Duration(sec=int(seconds), nanosec=int(nanoseconds)),
    )


def trajectory_from_message(m: JointTrajectory) -> Trajectory:
    """The points of a JointTrajectory with as many positions as names; velocities that are not given are NaN."""
    names, count = tuple(m.joint_names), len(m.joint_names)
    for i, point in enumerate(m.points):
        for field, allowed in (("positions", (count,)), ("velocities", (0, count)), ("accelerations", (0,))):
            if len(getattr(point, field)) not in allowed:
                raise BadMessage(f"point {i} has {len(getattr(point, field))} {field}; expected {allowed[-1]}")
    times = [p.time_from_start.sec + p.time_from_start.nanosec / _NANOSECONDS for p in m.points]
    missing = [float("nan")] * count
    return Trajectory(
        names,
        np.array(times, dtype=np.float64),
        np.array([list(p.positions) for p in m.points], dtype=np.float64).reshape(len(m.points), count),
        np.array([list(p.velocities) or missing for p in m.points], dtype=np.float64).reshape(len(m.points), count),
    )


def twist_to_message(twist: np.ndarray, stamp: int, frame_id: str) -> TwistStamped:
    """geometry_msgs/TwistStamped from linear over angular velocity (6,)."""
    linear, angular = (Vector3(x=float(x), y=float(y), z=float(z)) for x, y, z in np.split(twist, 2))
    return TwistStamped(header=header(stamp, frame_id), twist=Twist(linear=linear, angular=angular))


def twist_from_message(m: TwistStamped) -> tuple[int, str, np.ndarray]:
    """Stamp in ns, frame and linear over angular velocity float64 (6,) of a TwistStamped."""
    linear, angular = m.twist.linear, m.twist.angular
    values = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    return stamp_of(m.header), m.header.frame_id, values

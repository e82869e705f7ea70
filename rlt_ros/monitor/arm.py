"""The arm as a line through its joints, for viewers without meshes."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.frames import FrameTree
from rlt_ros.robot.kinematics import description_of
from rlt_ros.robot.pose import Pose


class Skeleton:
    """Of the robot config's arm, from its base to its tool."""

    def __init__(self, robot: RobotConfig) -> None:
        self._tree, self._names = FrameTree(description_of(robot)), robot.joint_names
        self._base, self._tool = robot.base_frame, robot.tool_frame

    def points(self, joints: np.ndarray) -> np.ndarray:
        """Positions float64 (n, 3) of the frames in the base frame, the base first. joints: (7,), rad."""
        frames = [*self._tree.static(), *self._tree.moving(dict(zip(self._names, joints.tolist())))]
        above = {frame.child: frame for frame in frames}
        chain = []
        name = self._tool
        while name != self._base:
            chain.append(above[name].pose)
            name = above[name].parent
        at, found = Pose.of((0, 0, 0), (0, 0, 0, 1)), [np.zeros(3)]
        for step in reversed(chain):
            at = Pose(at.position + at.rotation.apply(step.position), (at.rotation * step.rotation).as_quat())
            found.append(at.position)
        return np.array(found)

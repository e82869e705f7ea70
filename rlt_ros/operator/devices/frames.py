"""Along which axes a device moves the tool: those of the base, of the tool, or of a camera."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.description import urdf
from rlt_ros.robot.frames import FrameTree
from rlt_ros.strict import ConfigError

OPTICAL = "_optical_frame"
"""End of the names of frames whose z axis looks into the picture and whose x axis is its right (REP 103)."""
_BODY_IN_OPTICAL = Rotation.from_matrix([[0, -1, 0], [0, 0, -1], [1, 0, 0]])


class AxisFrame:
    """Orientation of a device's axes. x is forward, y left, z up: of the base, of the tool's own axes, or as seen from
    a camera, where forward is into the picture.

    follows_tool: the orientation of the tool must be known. Raises ConfigError for a camera that the robot config does
    not place, with both names.
    """

    def __init__(self, device: DeviceMap, robot: RobotConfig, where: str) -> None:
        self.follows_tool = device.frame == "tool"
        self._fixed = Rotation.identity()
        if device.frame == "camera":
            self._place(device.camera, robot, where)

    def in_base(self, tool: Rotation | None) -> Rotation:
        """Orientation in the base frame. tool: measured orientation of the tool there, needed where it is followed."""
        if not self.follows_tool:
            return self._fixed
        if tool is None:
            raise ValueError("the orientation of the tool is not known")
        return tool * self._fixed

    def _place(self, camera: str, robot: RobotConfig, where: str) -> None:
        mount = robot.camera_mounts.get(camera)
        if mount is None:
            known = ", ".join(robot.camera_mounts) or "none"
            raise ConfigError(f"{where}: camera is {camera!r}; camera_mounts of the robot config has {known}")
        body = Rotation.from_quat(mount.quaternion)
        if mount.frame.endswith(OPTICAL):
            body = body * _BODY_IN_OPTICAL
        carried = carried_by_tool(robot)
        if mount.parent == robot.base_frame:
            self._fixed = body
        elif mount.parent in carried:
            self.follows_tool, self._fixed = True, carried[mount.parent] * body
        else:
            known = ", ".join((robot.base_frame, *carried))
            raise ConfigError(f"{where}: camera {camera!r} stands in {mount.parent!r}; expected one of {known}")


def carried_by_tool(robot: RobotConfig) -> dict[str, Rotation]:
    """Frames that no joint moves against the tool -> their orientation in the tool's frame."""
    tree = FrameTree(
        urdf(robot.joint_names, robot.finger_joint_names, robot.base_frame, robot.tool_frame, robot.arm.joints)
    )
    above = {transform.child: transform for transform in tree.static()}
    found, frame, turn = {robot.tool_frame: Rotation.identity()}, robot.tool_frame, Rotation.identity()
    while frame in above:
        turn = turn * above[frame].pose.rotation.inv()
        frame = above[frame].parent
        found[frame] = turn
    return found


def tool_rotation(proprio: np.ndarray, robot: RobotConfig) -> Rotation:
    """Orientation of the tool in the base frame, out of the 19 values of an observation (`types.PROPRIO_NAMES`)."""
    return Rotation.from_rotvec(np.asarray(proprio, dtype=np.float64)[4:7]) * robot.reference.rotation

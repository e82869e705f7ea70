"""Target poses for crisp_controllers' CartesianController, which filters them and holds the last one for ever."""

from __future__ import annotations

from collections.abc import Sequence

from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState


class CartesianPoseBackend:
    """The set-point that is due first, as it is: the controller asks for no time and no posture of the arm."""

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Nothing: the safety module has judged the pose, and the controller takes any."""
        return ""

    def command(self, setpoints: Sequence[SetPoint], state: RobotState, seconds: float) -> Pose:
        """The pose of the first set-point."""
        if not setpoints:
            raise ValueError("no set-points to command")
        return setpoints[0].pose

    def hold(self, target: Pose, state: RobotState | None, seconds: float) -> Pose:
        """The pose held at."""
        return target

    def restart(self) -> None:
        """Nothing is remembered."""

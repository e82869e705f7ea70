"""What crisp_controllers' CartesianController does with its target before the impedance law sees it."""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import ControlConfig
from rlt_ros.sim.engine import mujoco


class TargetFilter:
    """First-order filter of the target pose and clip of the error, once per cycle.

    Quaternions are MuJoCo's (w x y z) inside. period: seconds of a cycle.
    """

    def __init__(self, config: ControlConfig, period: float) -> None:
        self._gain = 1.0 - math.exp(-period / config.filter_time)
        self._clip = config.error_clip
        self._rotational_clip = config.rotational_error_clip
        self._position, self._quat = np.zeros(3), np.array([1.0, 0, 0, 0])
        self._target_position, self._target_quat = self._position.copy(), self._quat.copy()

    @property
    def desired(self) -> Pose:
        """The filtered target, before the clip."""
        return Pose.of(self._position, np.roll(self._quat, -1))

    @property
    def target(self) -> Pose:
        """The target as it was commanded."""
        return Pose.of(self._target_position, np.roll(self._target_quat, -1))

    def reset(self, pose: Pose) -> None:
        """Target and filter become a pose, as the controller does when it is activated."""
        self.command(pose)
        self._position, self._quat = self._target_position.copy(), self._target_quat.copy()

    def command(self, target: Pose) -> None:
        """A new target; it is held until the next one. Raises ValueError if it is not finite."""
        checked = Pose.of(target.position, target.quaternion)
        self._target_position, self._target_quat = checked.position, np.roll(checked.quaternion, 1)

    def cycle(self, position: np.ndarray, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One cycle: the pose that the impedance pulls towards, near the measured position (3,) and quat (4,)."""
        self._position = self._position + self._gain * (self._target_position - self._position)
        mujoco.mju_quatIntegrate(self._quat, _turn(self._target_quat, self._quat), self._gain)
        error = np.clip(self._position - position, -self._clip, self._clip)
        turn = np.clip(_turn(self._quat, quat), -self._rotational_clip, self._rotational_clip)
        pulled = quat.copy()
        mujoco.mju_quatIntegrate(pulled, turn, 1.0)
        return position + error, pulled


def _turn(target: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Rotation vector (3,) in the start's own axes that leads from one quaternion to the other."""
    turn = np.empty(3)
    mujoco.mju_subQuat(turn, target, start)
    return turn

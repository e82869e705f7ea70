"""crisp_controllers' CartesianController: a filtered, clipped target, and a Cartesian impedance towards it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import ControlConfig
from rlt_ros.sim.controllers.base import Rejected
from rlt_ros.sim.controllers.target_filter import TargetFilter
from rlt_ros.sim.engine import mujoco


class CartesianController:
    """Moves the mocap body that the impedance of `sim.scene` pulls the tool to. period: seconds of a cycle."""

    def __init__(self, config: ControlConfig, period: float, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._data = data
        self._tool = data.site("tool")
        self._target_id = int(model.body("target").mocapid[0])
        self._filter = TargetFilter(config, period)

    @property
    def desired(self) -> Pose:
        """The filtered target, base frame."""
        return self._filter.desired

    def place(self, start: Pose) -> None:
        """Put the mocap body where the tool will be."""
        self._data.mocap_pos[self._target_id] = start.position
        self._data.mocap_quat[self._target_id] = np.roll(start.quaternion, 1)

    def reset(self) -> None:
        """Target and filter become the present pose."""
        self._filter.reset(Pose.of(self._tool.xpos, np.roll(self._quat(), -1)))

    def accept(self, command: Any, delay: float = 0.0) -> None:
        """A target Pose, held until the next one; it counts at once whatever its stamp says."""
        if not isinstance(command, Pose):
            raise Rejected(f"expected a pose, found {type(command).__name__}")
        self._filter.command(command)

    def cycle(self) -> None:
        """Filter, clip and move the mocap body."""
        pulled = self._filter.cycle(self._tool.xpos.copy(), self._quat())
        self._data.mocap_pos[self._target_id], self._data.mocap_quat[self._target_id] = pulled

    def _quat(self) -> np.ndarray:
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, self._tool.xmat)
        return quat

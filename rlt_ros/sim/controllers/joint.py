"""Controllers of joint positions: a source of desired positions, and a joint impedance towards them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlt_ros.robot.commands.base import Trajectory
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import ArmModel, model_of
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.config import ControlConfig
from rlt_ros.sim.controllers.base import Rejected
from rlt_ros.sim.controllers.servo import Servo, ServoConfig, Status
from rlt_ros.sim.controllers.trajectory_follower import TrajectoryFollower
from rlt_ros.sim.engine import mujoco


class JointController:
    """PD control of effort, as joint_trajectory_controller does it with gains p and d (fr3_arm_controller of MoveIt).

    Positions and velocities go to the actuators of `sim.scene` as one number, since those know positions only.
    """

    def __init__(self, config: ControlConfig, model: ArmModel, data: mujoco.MjData) -> None:
        self._data, self._arm = data, model
        self._ratio = np.array(config.joint_d) / np.array(config.joint_p)
        self._desired = np.zeros(7)

    @property
    def desired(self) -> Pose:
        """Where the desired joint positions put the tool."""
        return self._arm.forward(self._desired)

    def place(self, start: Pose) -> None:
        """Pull to where the joints are."""
        self._drive(self._data.qpos.copy(), np.zeros(7))

    def _drive(self, positions: np.ndarray, velocities: np.ndarray) -> None:
        self._desired = positions
        self._data.ctrl[:] = positions + self._ratio * velocities


class TrajectoryController(JointController):
    """joint_trajectory_controller on the effort interface."""

    def __init__(self, config: ControlConfig, robot: RobotConfig, data: mujoco.MjData) -> None:
        super().__init__(config, model_of(robot), data)
        self._follower = TrajectoryFollower(robot.joint_names)

    def reset(self) -> None:
        """Hold the present positions."""
        self._follower.reset(self._data.qpos, self._data.time)
        self._drive(self._data.qpos.copy(), np.zeros(7))

    def accept(self, command: Any, delay: float = 0.0) -> None:
        """A Trajectory that begins in `delay` seconds."""
        if not isinstance(command, Trajectory):
            raise Rejected(f"expected a joint trajectory, found {type(command).__name__}")
        self._follower.accept(command, self._data.time + delay, self._data.time)

    def cycle(self) -> None:
        """Drive towards what is desired now."""
        self._drive(*self._follower.sample(self._data.time))


class ServoController(JointController):
    """MoveIt Servo above joint_trajectory_controller. period: seconds of a cycle."""

    def __init__(self, config: ControlConfig, robot: RobotConfig, data: mujoco.MjData, period: float) -> None:
        model, twist = model_of(robot), robot.command.twist
        super().__init__(config, model, data)
        scale = {"linear_scale": twist.linear_scale, "rotational_scale": twist.rotational_scale}
        settings = ServoConfig(unitless=twist.units == "unitless", **scale)
        self._servo = Servo(model, robot.arm.joints, period, settings)

    @property
    def status(self) -> Status:
        """Of the last cycle."""
        return self._servo.status

    @property
    def led(self) -> Pose:
        """Where the twists have led the tool by now; the arm gets there later."""
        return self._arm.forward(self._servo.positions)

    def reset(self) -> None:
        """Hold the present positions."""
        self._servo.reset(self._data.qpos)
        self._drive(self._data.qpos.copy(), np.zeros(7))

    def accept(self, command: Any, delay: float = 0.0) -> None:
        """A twist (6,), stamped `delay` seconds from now."""
        if isinstance(command, (Pose, Trajectory)) or not isinstance(command, (np.ndarray, Sequence)):
            raise Rejected(f"expected a twist, found {type(command).__name__}")
        self._servo.accept(np.asarray(command, dtype=np.float64), self._data.time + delay)

    def cycle(self) -> None:
        """Drive towards what Servo has sent on."""
        self._drive(*self._servo.cycle(self._data.qpos, self._data.time))

"""The simulated controller that a robot config's command back-end talks to."""

from __future__ import annotations

from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.config import ControlConfig
from rlt_ros.sim.controllers.base import Controller
from rlt_ros.sim.controllers.cartesian import CartesianController
from rlt_ros.sim.controllers.joint import ServoController, TrajectoryController
from rlt_ros.sim.engine import mujoco


def controller_of(config: ControlConfig, robot: RobotConfig, model: mujoco.MjModel, data: mujoco.MjData) -> Controller:
    """A new controller of the scene; cycles follow each other as the control config says."""
    period = 1.0 / (robot.control_rate * config.cycles)
    if robot.command.backend == "joint_trajectory":
        return TrajectoryController(config, robot, data)
    if robot.command.backend == "twist":
        return ServoController(config, robot, data, period)
    return CartesianController(config, period, model, data)

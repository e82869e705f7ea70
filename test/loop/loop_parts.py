"""Small makers that the tests of the loop share."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.types import ActionChunk, Driver, ExecutedStep, Features, Mode, Phase, PolicyMode

ROBOT = load_robot()
PERIOD = 50_000_000
CENTRE = np.array([0.5, 0.0, 0.16])


def stamp(observation_id: int) -> int:
    return observation_id * PERIOD


def state(observation_id: int = 1, at: np.ndarray = CENTRE, **changes: object) -> RobotState:
    values = {
        "stamp": stamp(observation_id),
        "pose": Pose.of(at, ROBOT.reference.quaternion),
        "joint_positions": np.zeros(7),
        "joint_velocities": np.zeros(7),
        "force": np.zeros(3),
        "torque": np.zeros(3),
        "gripper_width": 0.016,
        "mode": RobotMode.MOVE,
    }
    return RobotState(**(values | changes))


def mode(
    observation_id: int, what: Mode = Mode.VLA, phase_id: int = 0, episode: int = 1, **changes: object
) -> PolicyMode:
    values = {
        "observation_id": observation_id,
        "stamp": stamp(observation_id),
        "mode": what,
        "phase": Phase.CRITICAL if phase_id else Phase.APPROACH,
        "phase_id": phase_id,
        "episode": episode,
        "explore": False,
        "record": bool(phase_id),
        "evaluation": False,
    }
    return PolicyMode(**(values | changes))


def features(observation_id: int, horizon: int = 12, value: float = 0.5) -> Features:
    reference = np.full((horizon, 7), value, np.float32)
    z = np.full(4, observation_id, np.float32)
    return Features(observation_id, stamp(observation_id), 1, observation_id, z, np.zeros(19, np.float32), reference)


def chunk(
    features_id: int, value: float = 0.5, driver: Driver = Driver.VLA, phase_id: int = 0, length: int = 10
) -> ActionChunk:
    actions = np.full((length, 7), value, np.float32)
    actions[:, 6] = -1.0
    return ActionChunk(features_id, stamp(features_id), actions, driver, phase_id, 3 if driver is Driver.ACTOR else 0)


def executed(observation_id: int, driver: Driver = Driver.VLA, phase_id: int = 1, **changes: object) -> ExecutedStep:
    values = {
        "observation_id": observation_id,
        "stamp": stamp(observation_id),
        "episode": 1,
        "step": observation_id,
        "driver": driver,
        "action": np.full(7, observation_id / 1000.0, np.float32),
        "sent": np.zeros(7, np.float32),
        "phase_id": phase_id,
    }
    return ExecutedStep(**(values | changes))

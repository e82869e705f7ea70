"""Where the executor's deltas start from, followed step by step: no topic says it, and back-ends differ in theirs."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from rlt_ros.robot.action_space import ActionSpace
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver, ExecutedStep

KEPT = 64
_POLICIES = (Driver.VLA, Driver.ACTOR)


class TargetTrack:
    """Repeats the executor's rule: from the last target while a policy goes on, or a person does; from the measured
    pose after a hold or a reset, when a person takes over, and always where the robot config says so.
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._space, self._measured_only = robot.action_space, robot.anchor == "measured"
        self._target: Pose | None = None
        self._previous = Driver.HOLD
        self._starts: OrderedDict[int, Pose | None] = OrderedDict()

    def executed(self, step: ExecutedStep, measured: Pose | None) -> None:
        """Take a step. measured: pose of the tool at its observation, None if unknown."""
        if step.driver in (*_POLICIES, Driver.HUMAN):
            anchor = self._anchor(step.driver, measured)
            self._target = None if anchor is None else self._space.target(anchor, step.sent)
        else:
            self._target = None
        self._previous = step.driver
        self._starts[step.observation_id + 1] = None if self._measured_only else self._chunk_start()
        if len(self._starts) > KEPT:
            self._starts.popitem(last=False)

    def start(self, observation_id: int, measured: Pose | None) -> Pose | None:
        """Pose that a policy's chunk for an observation starts from; None if neither target nor pose is known."""
        return self._starts.get(observation_id) or measured

    def _chunk_start(self) -> Pose | None:
        return self._target if self._previous in _POLICIES else None

    def _anchor(self, driver: Driver, measured: Pose | None) -> Pose | None:
        goes_on = self._previous in _POLICIES or (self._previous is Driver.HUMAN and driver is Driver.HUMAN)
        return self._target if goes_on and self._target is not None and not self._measured_only else measured


def path(space: ActionSpace, start: Pose, actions: np.ndarray) -> np.ndarray:
    """Positions float64 (n + 1, 3) in the base frame that actions (n, 7) lead through, the start first."""
    poses = [start]
    for action in actions:
        poses.append(space.target(poses[-1], action))
    return np.array([pose.position for pose in poses])

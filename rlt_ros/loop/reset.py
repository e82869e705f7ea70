"""The reset as a motion: hand, straight up, across at that height, down to the start; pure.

It goes through the same safety module as every other command, at bounded speed, one target per control step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.gripper import OPEN
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.safety import Safety
from rlt_ros.robot.sections import Start
from rlt_ros.robot.state import RobotState

PASSING = 3.0
"""Times the tolerance at which a corner of the way counts as reached: nobody needs it exactly."""
SETTLED = 3
"""Control steps within the tolerance after which the start is reached."""
_PROGRESS = 1e-3
"""m, and ten times as many rad: an approach by less is none."""
_REACH = 0.1
"""m that a rad counts as in a distance."""


@dataclass(frozen=True)
class Move:
    """One control step of a reset. target: pose to send, as the safety module allowed it. gripper: held state to
    command, None without a change. done: the start is reached. failed: why the reset ends here, the arm holding."""

    target: Pose | None = None
    gripper: float | None = None
    done: bool = False
    failed: str = ""


class ResetMotion:
    """Moves the arm to a start pose; `begin`, then a `step` per observation until one is done or failed.

    An obstacle, a force limit, a fault or too much time ends it by name. safety: the one of the executor. Raises
    ValueError where a start of the config lies outside the workspace.
    """

    def __init__(self, robot: RobotConfig, safety: Safety) -> None:
        self._robot, self._config, self._safety = robot, robot.reset, safety
        self._period = 1.0 / robot.control_rate
        for pose in extremes(robot.reset.start):
            if not safety.inside(pose):
                box = robot.limits.workspace
                raise ValueError(
                    f"reset.start: {pose.position.round(4).tolist()} m, {pose.quaternion.round(4).tolist()} lies "
                    f"outside the workspace {list(box.lower)} to {list(box.upper)} m, +-{list(box.rotation)} rad"
                )

    def begin(self, stamp: int, state: RobotState, seed: int, about: Pose | None = None) -> None:
        """Plan the way from a measured state. stamp: ns. seed: of the start pose, 0 or more. about: what it is drawn
        about, never below it; None for the start of the config.
        """
        self.start = draw(self._config.start, seed) if about is None else self._near(about, seed)
        self._way = list(self._waypoints(state.pose))
        self._target = state.pose
        self._began = self._waiting = stamp
        self._opening = self._config.gripper == "open"
        self._settled = 0
        self._nearer(stamp, np.inf)

    def step(self, stamp: int, state: RobotState) -> Move:
        """The next move; state must be one in which the arm may move at all."""
        if not self._safety.inside(self.start):
            return Move(failed=f"the start {self.start.position.round(3).tolist()} m lies outside the workspace")
        if self._opening:
            if stamp - self._waiting >= self._config.gripper_seconds * 1e9:
                self._opening = False
                self._nearer(stamp, np.inf)
            return self._send(state, self._target, OPEN)
        if stamp - self._began > self._config.time_limit * 1e9:
            return Move(failed=f"not at the start after {self._config.time_limit:g} s, {self._left(state)}")
        if self._arrived(state):
            return replace(self._send(state, self._way[0]), done=True)
        if self._stalled(stamp, state):
            return Move(failed=f"no progress for {self._config.stalled_after:g} s, {self._left(state)}: an obstacle?")
        return self._send(state, self._towards(self._way[0]))

    def _near(self, pose: Pose, seed: int) -> Pose:
        about = replace(self._config.start, position=pose.position, quaternion=pose.quaternion, saved=())
        drawn = draw(about, seed)
        # Up only: a person saves poses where the arm fails, and below those may be the board.
        height = pose.position[2] + abs(drawn.position[2] - pose.position[2])
        drawn = Pose(np.array([*drawn.position[:2], height]), drawn.quaternion)
        # A pose at the edge of the workspace has only itself to offer there.
        return drawn if self._safety.inside(drawn) else pose

    def _waypoints(self, measured: Pose) -> Iterator[Pose]:
        box = self._robot.limits.workspace
        here = np.clip(measured.position, box.lower, box.upper)
        turn = np.clip(self._robot.reference.to(measured)[1], -np.array(box.rotation), box.rotation)
        height = max(min(here[2] + self._config.lift, box.upper[2]), self.start.position[2])
        upright = self._robot.reference.moved(np.zeros(3), turn)
        yield Pose(np.array([*here[:2], height]), upright.quaternion)
        yield Pose(np.array([*self.start.position[:2], height]), self.start.quaternion)
        yield self.start

    def _send(self, state: RobotState, wanted: Pose, gripper: float | None = None) -> Move:
        verdict = self._safety.check(wanted, state)
        if verdict.target is None:
            return Move(failed=", ".join(verdict.reasons))
        self._target = verdict.target
        return Move(verdict.target, gripper)

    def _towards(self, goal: Pose) -> Pose:
        step, turn = self._target.to(goal)
        far = float(np.linalg.norm(step)), float(np.linalg.norm(turn))
        reach = self._config.speed * self._period, self._config.rotation_speed * self._period
        # One share for both, so that translation and rotation arrive together.
        share = min(1.0, *(r / f for r, f in zip(reach, far, strict=True) if f > 0.0), 1.0)
        return self._target.moved(step * share, turn * share) if share < 1.0 else goal

    def _arrived(self, state: RobotState) -> bool:
        """Whether the start is reached; corners on the way are dropped as they are passed."""
        while len(self._way) > 1 and self._within(state, PASSING):
            del self._way[0]
            self._nearer(state.stamp, np.inf)
        self._settled = self._settled + 1 if len(self._way) == 1 and self._within(state, 1.0) else 0
        return self._settled >= SETTLED

    def _within(self, state: RobotState, times: float) -> bool:
        step, turn = state.pose.to(self._way[0])
        c = self._config
        near = np.linalg.norm(step) <= times * c.tolerance
        return bool(near and np.linalg.norm(turn) <= times * c.rotation_tolerance)

    def _distance(self, state: RobotState) -> float:
        step, turn = state.pose.to(self._way[0])
        return float(np.linalg.norm(step) + _REACH * np.linalg.norm(turn))

    def _stalled(self, stamp: int, state: RobotState) -> bool:
        distance = self._distance(state)
        if distance < self._best - _PROGRESS:
            self._nearer(stamp, distance)
        return self._settled == 0 and stamp - self._progress > self._config.stalled_after * 1e9

    def _nearer(self, stamp: int, distance: float) -> None:
        self._best, self._progress = distance, stamp

    def _left(self, state: RobotState) -> str:
        step, turn = state.pose.to(self._way[0])
        return f"{1e3 * np.linalg.norm(step):.1f} mm and {np.linalg.norm(turn):.3f} rad from where it should go"


def draw(start: Start, seed: int) -> Pose:
    """The start pose of a seed; the same seed always gives the same one."""
    rng = np.random.default_rng(seed)
    if start.saved:
        return _saved(start.saved[int(rng.integers(len(start.saved)))])
    return _around(start, rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3))


def extremes(start: Start) -> Iterator[Pose]:
    """Poses between which every start lies, for checks."""
    if start.saved:
        yield from (_saved(pose) for pose in start.saved)
        return
    for sign in (-1.0, 1.0):
        yield _around(start, np.full(3, sign), np.zeros(3))
        for axis in np.eye(3):
            yield _around(start, np.zeros(3), sign * axis)


def _saved(values: tuple[float, ...]) -> Pose:
    return Pose.of(values[:3], values[3:])


def _around(start: Start, shift: np.ndarray, turn: np.ndarray) -> Pose:
    """The middle, moved by a share of its half ranges."""
    middle = Pose.of(start.position, start.quaternion)
    turned = Rotation.from_rotvec(np.array(start.rotation) * turn) * middle.rotation
    return Pose(middle.position + np.array(start.spread) * shift, turned.as_quat())

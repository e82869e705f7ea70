"""Short joint trajectories for joint_trajectory_controller, each of which replaces the one before.

What the controller does with a message (ros2_controllers, Humble to Kilted) decides what is sent: positions alone would
make velocities jump, so velocities are filled in; the last velocity is 0, since Jazzy refuses any other; a hold is one
point, since a message without points is refused; names go along, since only they say which value is whose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlt_ros.robot.commands.base import CommandRefused, SetPoint, Trajectory
from rlt_ros.robot.commands.config import HORIZON
from rlt_ros.robot.commands.inverse import InverseKinematics
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import ArmModel, model_of
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState

MODEL_TRANSLATION, MODEL_ROTATION = 0.010, 0.1
"""m and rad by which the model may miss the measured pose: more is another robot or another tool."""
FOLLOWED = 0.05
"""rad by which a joint may miss what was commanded; beyond it the next positions are looked for near the measured ones,
since going back to the commanded ones would be a jump of the elbow."""
HELD = 0.25
"""rad by which a joint may miss what was commanded while a hold at it goes on: in contact the arm never gets there."""
HOLD_IN = 0.1
"""s in which a hold is reached; from rest it moves nothing."""


class JointTrajectoryBackend:
    """Inverse kinematics from set-point to set-point, velocities by finite differences.

    The joint positions commanded last are where the next ones are looked for, so that the elbow never jumps; the
    measured ones where nothing was commanded, or where the arm is elsewhere by now.
    """

    def __init__(self, robot: RobotConfig, model: ArmModel | None = None) -> None:
        self._robot, self._settings = robot, robot.command.joint_trajectory
        self.restart()
        self.use(model or model_of(robot))

    def restart(self) -> None:
        """Start from the measured joint positions."""
        self._commanded: np.ndarray | None = None
        self._pose: Pose | None = None
        self._solved: tuple[Pose, np.ndarray, np.ndarray] | None = None

    def use(self, model: ArmModel) -> None:
        """Take another model of the arm, such as that of the robot's own description; nothing is commanded yet."""
        self._model = model
        self._inverse = InverseKinematics(model, self._robot.arm, self._settings)

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Why a target cannot be commanded: model, reach, singularity, limits, jump or speed; empty if it can."""
        try:
            self._planned([SetPoint(target)], state)
        except CommandRefused as error:
            return str(error)
        return ""

    def command(self, setpoints: Sequence[SetPoint], state: RobotState, seconds: float) -> Trajectory:
        """Trajectory through set-points, each reached `lead` after it is due; at rest at the last one."""
        trajectory = self._planned(setpoints, state)
        self._commanded, self._pose = trajectory.positions[-1], setpoints[-1].pose
        return trajectory

    def hold(self, target: Pose, state: RobotState | None, seconds: float) -> Trajectory:
        """One point: the positions commanded last if the target is theirs and the arm is there, else the measured."""
        stands = self._commanded is not None and (state is None or self._followed(state, HELD))
        if state is not None and not (stands and _same(target, self._pose)):
            self._commanded, self._pose = np.array(state.joint_positions, dtype=np.float64), target
        if self._commanded is None:
            raise ValueError("no joint positions are known to hold at")
        return Trajectory(self._robot.joint_names, np.array([HOLD_IN]), self._commanded[None], np.zeros((1, 7)))

    def _planned(self, setpoints: Sequence[SetPoint], state: RobotState) -> Trajectory:
        times = np.array([point.ahead + self._settings.lead for point in setpoints])
        if not times.size or (np.diff(times, prepend=0.0) <= 0.0).any() or times[-1] > HORIZON + 1e-9:
            raise ValueError(f"set-points are reached after {times.tolist()} s; expected rising times up to {HORIZON}")
        self._check_model(state)
        knots = [*self._first(setpoints[0].pose, state)]
        for point in setpoints[1:]:
            knots.append(self._inverse.solve(point.pose, knots[-1]))
        moments = np.concatenate([[0.0], times])
        self._check_speed(moments, np.array(knots))
        return Trajectory(self._robot.joint_names, times, np.array(knots[1:]), velocities(moments, np.array(knots))[1:])

    def _check_model(self, state: RobotState) -> None:
        error = self._model.error(state.joint_positions, state.pose)
        step, turn = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        if step > MODEL_TRANSLATION or turn > MODEL_ROTATION:
            raise CommandRefused(
                f"model: the measured pose is {step * 1e3:.1f} mm and {turn:.3f} rad away from where the measured "
                f"joints put {self._robot.tool_frame}"
            )

    def _first(self, pose: Pose, state: RobotState) -> tuple[np.ndarray, np.ndarray]:
        """Joint positions that a first set-point starts from, and those that it leads to."""
        known = self._solved is not None and self._solved[0] is pose
        if not (known and np.abs(self._solved[2] - state.joint_positions).max() < HELD):
            self._solved = pose, *self._solve(pose, state)
        return self._solved[1:]

    def _solve(self, pose: Pose, state: RobotState) -> tuple[np.ndarray, np.ndarray]:
        if self._followed(state):
            try:
                return self._commanded, self._inverse.solve(pose, self._commanded)
            except CommandRefused:
                pass  # a reset or a hand may have moved the arm: it is judged from where it is
        measured = np.array(state.joint_positions, dtype=np.float64)
        return measured, self._inverse.solve(pose, measured)

    def _followed(self, state: RobotState, within: float = FOLLOWED) -> bool:
        commanded = self._commanded
        return commanded is not None and bool(np.abs(commanded - state.joint_positions).max() < within)

    def _check_speed(self, moments: np.ndarray, knots: np.ndarray) -> None:
        """Mean velocities between knots against the arm's limits at those places."""
        speeds = np.diff(knots, axis=0) / np.diff(moments)[:, None]
        for q, speed in zip(knots[1:], speeds):
            low, high = (self._settings.velocity_scale * limit for limit in self._robot.arm.joints.velocity_range(q))
            excess = np.maximum(low - speed, speed - high)
            if excess.max() > 0.0:
                i = int(np.argmax(excess))
                allowed = f"{low[i]:.2f} to {high[i]:.2f} are allowed"
                raise CommandRefused(f"speed: joint {i + 1} would move at {speed[i]:.2f} rad/s; {allowed}")


def velocities(times: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Velocities float64 (n, 7) by central differences at knots (n, 7) of times (n,); 0 at the first and the last."""
    found = np.zeros_like(knots)
    found[1:-1] = (knots[2:] - knots[:-2]) / (times[2:] - times[:-2])[:, None]
    return found


def _same(pose: Pose, other: Pose | None) -> bool:
    if other is None:
        return False
    return pose is other or all(np.linalg.norm(part) < 1e-9 for part in other.to(pose))

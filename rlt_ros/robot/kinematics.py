"""Kinematics of the arm by pinocchio, on a URDF: the robot's own, or that of the FR3 with the Franka hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rlt_ros.robot.config import RobotConfig, load_robot
from rlt_ros.robot.description import urdf
from rlt_ros.robot.pose import Pose

try:
    import pinocchio
except ImportError as error:
    raise ImportError("pinocchio is missing: rosdep install it, or pip install 'rlt_ros[robot]'") from error

_DAMPING = 1e-6 * np.eye(6)
_FR3 = load_robot().arm
LOWER, UPPER = np.array(_FR3.joints.lower), np.array(_FR3.joints.upper)
READY = np.array(_FR3.ready)
"""Franka's ready posture in radians."""


class ArmModel:
    """Forward kinematics and Jacobian of seven joints up to a tool's frame; all other joints of the URDF are locked.

    Joint positions are in rad, in the order of the joint names; poses are in the frame of the URDF's root. Not for use
    by several threads at once. Raises ValueError naming a joint or frame that the URDF lacks.
    """

    def __init__(self, description: str, joint_names: Sequence[str], tool_frame: str) -> None:
        whole = _parsed(description)
        missing = [name for name in joint_names if not whole.existJointName(name)]
        if missing:
            raise ValueError(f"robot description: joint {missing[0]!r} is missing; it has {list(whole.names)[1:]}")
        others = [whole.getJointId(name) for name in list(whole.names)[1:] if name not in joint_names]
        self._model = pinocchio.buildReducedModel(whole, others, pinocchio.neutral(whole))
        if not self._model.existFrame(tool_frame):
            frames = [frame.name for frame in self._model.frames]
            raise ValueError(f"robot description: frame {tool_frame!r} is missing; it has {frames}")
        if list(self._model.names)[1:] != list(joint_names):
            raise ValueError(
                f"robot description: joints come as {list(self._model.names)[1:]}, not {list(joint_names)}"
            )
        self._data = self._model.createData()
        self._tool = self._model.getFrameId(tool_frame)

    def forward(self, q: np.ndarray) -> Pose:
        """Pose of the tool for joint positions (7,). Raises ValueError if they are not finite."""
        place = self._placed(_checked(q))
        return Pose.of(place.translation, pinocchio.Quaternion(place.rotation).coeffs())

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Geometric Jacobian float64 (6, 7) of the tool: linear (m) over angular (rad) rows, base axes."""
        axes = pinocchio.LOCAL_WORLD_ALIGNED
        return pinocchio.computeFrameJacobian(self._model, self._data, _checked(q), self._tool, axes)

    def error(self, q: np.ndarray, pose: Pose) -> np.ndarray:
        """What is missing to a pose at joint positions (7,): translation (m) and rotation vector (rad), base axes."""
        place = self._placed(_checked(q))
        x, y, z, w = pose.quaternion
        turn = pinocchio.log3(pinocchio.Quaternion(w, x, y, z).toRotationMatrix() @ place.rotation.T)
        return np.concatenate([pose.position - place.translation, turn])

    def towards(self, q: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Change of the joint positions (7,) that makes up for an error (6,): one damped least-squares step."""
        j = self.jacobian(q)
        return j.T @ np.linalg.solve(j @ j.T + _DAMPING, error)

    def _placed(self, q: np.ndarray) -> pinocchio.SE3:
        pinocchio.framesForwardKinematics(self._model, self._data, q)
        return self._data.oMf[self._tool]


def model_of(robot: RobotConfig, description: str = "") -> ArmModel:
    """The arm of a robot config; description: its URDF, empty for that of the FR3 with the Franka hand."""
    return ArmModel(description or description_of(robot), robot.joint_names, robot.tool_frame)


def description_of(robot: RobotConfig) -> str:
    """URDF of the FR3 with the Franka hand, with the names and limits of a robot config."""
    return urdf(robot.joint_names, robot.finger_joint_names, robot.base_frame, robot.tool_frame, robot.arm.joints)


@lru_cache(maxsize=1)
def fr3() -> ArmModel:
    """The FR3 with the Franka hand, as the default robot config has it."""
    return model_of(load_robot())


def forward(q: np.ndarray) -> Pose:
    """Pose of the FR3's tool centre point in the base frame for joint positions (7,) in rad.

    Raises ValueError if they are not finite.
    """
    return fr3().forward(q)


def jacobian(q: np.ndarray) -> np.ndarray:
    """Geometric Jacobian float64 (6, 7) of the FR3's tool: linear (m) over angular (rad) rows, base axes."""
    return fr3().jacobian(q)


def tool_twist(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Twist float64 (6,) of the tool: linear (m/s) then angular (rad/s) velocity along the base axes."""
    return jacobian(q) @ np.asarray(dq, dtype=np.float64)


def inverse(pose: Pose, guess: np.ndarray, tolerance: float = 1e-8, iterations: int = 200) -> np.ndarray:
    """Joint positions float64 (7,) of the FR3 near a guess that bring its tool to a pose: damped least squares.

    Raises ValueError if the pose is not reached to the tolerance (m and rad) within the joint limits.
    """
    q, model = np.array(guess, dtype=np.float64), fr3()
    for _ in range(iterations):
        error = model.error(q, pose)
        if np.linalg.norm(error) < tolerance:
            return q
        q = np.clip(q + model.towards(q, error), LOWER, UPPER)
    raise ValueError(f"no joint positions found for {pose}: {np.linalg.norm(error):.2e} left after {iterations} steps")


def _parsed(description: str) -> pinocchio.Model:
    try:
        return pinocchio.buildModelFromXML(description)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"robot description: not a URDF: {error}") from error


def _checked(q: np.ndarray) -> np.ndarray:
    q = np.asarray(q, dtype=np.float64)
    if q.shape != (7,) or not np.isfinite(q).all():
        raise ValueError(f"joint positions must be 7 finite values, got {q.tolist()}")
    return q

"""Kinematics of the Franka Research 3 with the Franka hand, from its DH parameters.

Source: Franka Robotics, "Robot and interface specifications", Denavit-Hartenberg parameters in Craig's convention, and
franka_description's hand (turned by -45 degrees on the flange, tool centre point 0.1034 m beyond it).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.pose import Pose

# a (m), d (m), alpha (rad) of each joint.
DH = np.array(
    [
        (0.0, 0.333, 0.0),
        (0.0, 0.0, -np.pi / 2),
        (0.0, 0.316, np.pi / 2),
        (0.0825, 0.0, np.pi / 2),
        (-0.0825, 0.384, -np.pi / 2),
        (0.0, 0.0, np.pi / 2),
        (0.088, 0.0, np.pi / 2),
    ]
)
FLANGE = 0.107
"""Distance in metres from the last joint's frame to the flange, along its z axis."""
HAND_TCP = 0.1034
"""Distance in metres from the flange, which is also the hand's frame, to the tool centre point."""
HAND_TURN = -np.pi / 4
"""Angle in radians by which the hand is turned on the flange."""
LOWER = np.array([-2.9007, -1.8361, -2.9007, -3.0770, -2.8763, 0.4398, -3.0508])
UPPER = np.array([2.9007, 1.8361, 2.9007, -0.1169, 2.8763, 4.6216, 3.0508])
READY = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
"""Franka's ready posture in radians."""


def _tool() -> np.ndarray:
    tool = np.eye(4)
    tool[:3, :3] = Rotation.from_rotvec([0.0, 0.0, HAND_TURN]).as_matrix()
    tool[2, 3] = FLANGE + HAND_TCP
    return tool


_TOOL = _tool()
_COS_ALPHA, _SIN_ALPHA = np.cos(DH[:, 2]), np.sin(DH[:, 2])


def _link(i: int, angle: float) -> np.ndarray:
    """Transform (4, 4) from one joint's frame to the next."""
    c, s, ca, sa = np.cos(angle), np.sin(angle), _COS_ALPHA[i], _SIN_ALPHA[i]
    a, d = DH[i, 0], DH[i, 1]
    return np.array([[c, -s, 0.0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1.0]])


def _frames(q: np.ndarray) -> list[np.ndarray]:
    """Transforms (4, 4) base to each of the seven joints' frames and, last, to the tool centre point."""
    q = np.asarray(q, dtype=np.float64)
    if q.shape != (7,) or not np.isfinite(q).all():
        raise ValueError(f"joint positions must be 7 finite values, got {q.tolist()}")
    frames, frame = [], np.eye(4)
    for i in range(7):
        frame = frame @ _link(i, q[i])
        frames.append(frame)
    return [*frames, frame @ _TOOL]


def forward(q: np.ndarray) -> Pose:
    """Pose of the tool centre point in the base frame for joint positions (7,) in rad.

    Raises ValueError if they are not finite.
    """
    tool = _frames(q)[-1]
    return Pose.of(tool[:3, 3], Rotation.from_matrix(tool[:3, :3]).as_quat())


def jacobian(q: np.ndarray) -> np.ndarray:
    """Geometric Jacobian float64 (6, 7) of the tool centre point: linear (m) over angular (rad) rows, base axes."""
    *joints, tool = _frames(q)
    axes = np.array([frame[:3, 2] for frame in joints])
    arms = tool[:3, 3] - np.array([frame[:3, 3] for frame in joints])
    return np.vstack([np.cross(axes, arms).T, axes.T])


def tool_twist(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """Twist float64 (6,) of the tool: linear (m/s) then angular (rad/s) velocity along the base axes."""
    return jacobian(q) @ np.asarray(dq, dtype=np.float64)


def inverse(pose: Pose, guess: np.ndarray, tolerance: float = 1e-8, iterations: int = 200) -> np.ndarray:
    """Joint positions float64 (7,) near a guess that bring the tool to a pose: damped least squares.

    Raises ValueError if the pose is not reached to the tolerance (m and rad) within the joint limits.
    """
    q = np.array(guess, dtype=np.float64)
    for _ in range(iterations):
        error = np.concatenate(forward(q).to(pose))
        if np.linalg.norm(error) < tolerance:
            return q
        j = jacobian(q)
        q = np.clip(q + j.T @ np.linalg.solve(j @ j.T + 1e-6 * np.eye(6), error), LOWER, UPPER)
    raise ValueError(f"no joint positions found for {pose}: {np.linalg.norm(error):.2e} left after {iterations} steps")

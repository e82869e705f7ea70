"""Rigid poses and rotation vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Pose:
    """Pose of the tool centre point in the robot's base frame.

    position: float64 (3,) in metres. quaternion: float64 (4,), x y z w, unit length.
    """

    position: np.ndarray
    quaternion: np.ndarray

    @staticmethod
    def of(position: object, quaternion: object) -> Pose:
        """Pose from sequences; the quaternion is normalised. Raises ValueError on non-finite or zero-length input."""
        p = np.array(position, dtype=np.float64)
        q = np.array(quaternion, dtype=np.float64)
        norm = float(np.linalg.norm(q))
        if p.shape != (3,) or q.shape != (4,) or not np.isfinite(p).all() or not np.isfinite(norm) or norm < 1e-6:
            raise ValueError(f"not a pose: position {position}, quaternion {quaternion}")
        return Pose(p, q / norm)

    @property
    def rotation(self) -> Rotation:
        """Orientation as a scipy rotation."""
        return Rotation.from_quat(self.quaternion)

    def moved(self, translation: np.ndarray, rotation_vector: np.ndarray) -> Pose:
        """This pose moved by a translation (m) and a rotation vector (rad), both along the base axes."""
        turned = Rotation.from_rotvec(rotation_vector) * self.rotation
        return Pose(self.position + translation, same_sign(turned.as_quat(), self.quaternion))

    def to(self, other: Pose) -> tuple[np.ndarray, np.ndarray]:
        """Translation (m) and rotation vector (rad, at most pi) along the base axes that lead to the other pose."""
        turn = (other.rotation * self.rotation.inv()).as_rotvec()
        return other.position - self.position, turn


def same_sign(quaternion: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The quaternion or its negative, whichever lies nearer: both are the same rotation, only one is continuous."""
    return -quaternion if float(np.dot(quaternion, like)) < 0.0 else quaternion


def continued(turn: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Of the rotation vectors (3,) in rad that mean the same as `turn` the one nearest to the one before.

    A vector of at most pi has a jump at pi: there two opposite ones mean nearly the same rotation. The result may be
    longer than pi. Where the two are closer than that, `turn` is returned as it is.
    """
    angle, past = float(np.linalg.norm(turn)), float(np.linalg.norm(before))
    if angle + past <= np.pi or angle == 0.0:
        return turn
    longer = [turn * ((angle + turns * 2 * np.pi) / angle) for turns in (-1, 1)]
    return min((turn, *longer), key=lambda vector: float(np.linalg.norm(vector - before)))

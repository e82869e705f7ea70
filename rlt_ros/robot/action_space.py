"""The one action space: normalised tool-centre-point deltas per control step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.types import GRIPPER

REFERENCE_LIMIT = 0.98
"""References are clipped to this: a bounded actor reaches 1 only with infinite weights, so it could never copy more."""


@dataclass(frozen=True)
class ActionSpace:
    """Scale of an action: translation in metres and rotation in radians per control step at |a| = 1."""

    translation: float
    rotation: float

    def deltas(self, action: np.ndarray) -> np.ndarray:
        """Translation (m) and rotation vector (rad), float64 (6,), that an action (7,) asks for."""
        return np.asarray(action, dtype=np.float64)[:GRIPPER] * np.repeat([self.translation, self.rotation], 3)

    def target(self, anchor: Pose, action: np.ndarray) -> Pose:
        """Pose that an action (7,) leads to from the anchor; deltas along the base axes."""
        a = np.asarray(action, dtype=np.float64)
        return anchor.moved(a[:3] * self.translation, a[3:GRIPPER] * self.rotation)

    def action(self, anchor: Pose, target: Pose, gripper: float) -> np.ndarray:
        """Action float32 (7,) that leads from the anchor to the target: the inverse of `target`."""
        translation, turn = anchor.to(target)
        return np.concatenate([translation / self.translation, turn / self.rotation, [gripper]]).astype(np.float32)


def clip_reference(reference: np.ndarray) -> np.ndarray:
    """A reference chunk (H, A) within the actor's reach, float32. Raises ValueError if it is not finite."""
    if not np.isfinite(reference).all():
        raise ValueError(f"reference chunk is not finite at {np.argwhere(~np.isfinite(reference))[0].tolist()}")
    return np.clip(reference, -REFERENCE_LIMIT, REFERENCE_LIMIT).astype(np.float32)

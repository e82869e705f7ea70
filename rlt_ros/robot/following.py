"""Commanded but not following: what stopped the arm need not show in its state (field report C04)."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.robot.sections import Following
from rlt_ros.robot.state import RobotState

STANDS = "but the arm stands still"
"""Part of a hold's reason where the arm has not followed."""


def stood_still(reason: str) -> bool:
    """Whether a step's reason says that the arm had not followed the steps before it."""
    return STANDS in reason


class FollowingMonitor:
    """Watches commanded steps and says when the arm has not followed them for too long.

    It bites when for `seconds` of commanded steps the measured pose stood still, the target lay away from it, motion
    was asked for (more than jitter: the sum of what was asked), and nothing touched the arm. Any of these missing
    begins the count anew, and so does a hold, during which standing still is right.
    """

    def __init__(self, config: Following) -> None:
        self._config = config
        self._since: int | None = None
        self._at: Pose | None = None
        self._asked = np.zeros(6)

    def rest(self) -> None:
        """A step without a command."""
        self._since = None

    def step(self, stamp: int, state: RobotState, target: Pose, asked: np.ndarray) -> str:
        """Take a commanded step; returns why the arm does not follow, empty if it does.

        stamp: ns. target: that was sent. asked: (6,), translation (m) and rotation vector (rad) that the driver asked
        for, before the safety module.
        """
        if self._since is None or not self._still(state) or not self._free(state, target):
            self._since, self._at, self._asked = stamp, state.pose, np.zeros(6)
        self._asked = self._asked + asked
        seconds = (stamp - self._since) / 1e9
        if seconds < self._config.seconds or not self._away(self._asked[:3], self._asked[3:]):
            return ""
        step, turn = state.pose.to(target)
        return (
            f"commanded for {seconds:.2f} s {STANDS}: target {1e3 * np.linalg.norm(step):.1f} mm and "
            f"{np.linalg.norm(turn):.3f} rad away, force {np.linalg.norm(state.force):.1f} N"
        )

    def _still(self, state: RobotState) -> bool:
        step, turn = self._at.to(state.pose)
        c = self._config
        return bool(np.linalg.norm(step) < c.still_translation and np.linalg.norm(turn) < c.still_rotation)

    def _free(self, state: RobotState, target: Pose) -> bool:
        return bool(np.linalg.norm(state.force) < self._config.contact) and self._away(*state.pose.to(target))

    def _away(self, translation: np.ndarray, rotation: np.ndarray) -> bool:
        far = np.linalg.norm(translation) >= self._config.error_translation
        return bool(far or np.linalg.norm(rotation) >= self._config.error_rotation)

"""The last station before the robot: every command passes here, whoever drives. No learning code.

What leaves `Safety.check` lies inside the workspace box and within the leash of the measured pose, or nothing leaves
it. Each reason starts with a fixed word and a colon (state, mode, force, target, workspace, leash) so that a log can
say it once while the figures behind it change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.config import Limits
from rlt_ros.robot.pose import Pose, same_sign
from rlt_ros.robot.state import RobotMode, RobotState

MOVABLE = (None, RobotMode.IDLE, RobotMode.MOVE)
"""Robot modes in which commands may be sent; None where no robot state is published."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Verdict:
    """target: pose that may be sent, None means hold. reasons: why it holds, or what was limited."""

    target: Pose | None
    reasons: tuple[str, ...] = ()


class Safety:
    """Workspace box, leash, force limit and robot mode (`config.Limits`).

    reference: pose that the rotation limits are about. State: whether the force limit has tripped, and the sign of the
    last quaternion, so that consecutive targets never jump between q and -q.
    """

    def __init__(self, limits: Limits, reference: Pose) -> None:
        self._limits = limits
        self._reference = reference
        self._lower = np.array(limits.workspace.lower)
        self._upper = np.array(limits.workspace.upper)
        self._turn = np.array(limits.workspace.rotation)
        self._tripped = False
        self._sign = reference.quaternion

    def ready(self, state: RobotState) -> tuple[str, ...]:
        """Reasons in the measured state not to move at all; empty when any command may be judged."""
        with np.errstate(all="ignore"):
            return tuple(filter(None, (self._sound(state), self._mode(state), self._force(state.force))))

    def check(self, target: Pose, state: RobotState) -> Verdict:
        """Judge a target pose against the measured state. Never raises."""
        with np.errstate(all="ignore"):
            goal = _pose(target)
            held = self.ready(state)
            if goal is None:
                held += ("target: not a finite pose",)
            measured = _pose(state.pose)
            if held or goal is None or measured is None:
                return Verdict(None, held)
            return self._limited(goal, measured)

    def near(self, target: Pose, state: RobotState) -> bool:
        """Whether a target lies within the leash of the measured pose."""
        with np.errstate(all="ignore"):
            goal, measured = _pose(target), _pose(state.pose)
            if goal is None or measured is None:
                return False
            (step, turn), limits = measured.to(goal), self._limits
            return self._leashed(step, limits.leash_translation) and self._leashed(turn, limits.leash_rotation)

    def inside(self, pose: Pose) -> bool:
        """Whether a pose lies inside the workspace."""
        with np.errstate(all="ignore"):
            sound = _pose(pose)
            if sound is None:
                return False
            turn = self._reference.to(sound)[1]
            in_box = (sound.position >= self._lower).all() and (sound.position <= self._upper).all()
            return bool(in_box and (np.abs(turn) <= self._turn).all())

    def _sound(self, state: RobotState) -> str:
        return "" if _pose(state.pose) is not None else "state: the measured pose is not finite"

    def _mode(self, state: RobotState) -> str:
        if state.error:
            return f"mode: the robot reports an error{': ' if state.errors else ''}{', '.join(state.errors)}"
        return "" if state.mode in MOVABLE else f"mode: the robot is in {getattr(state.mode, 'name', state.mode)}"

    def _force(self, force: np.ndarray) -> str:
        size = float(np.linalg.norm(np.asarray(force, dtype=np.float64)))
        if not np.isfinite(size):
            self._tripped = True
            return "force: the measured force is not finite"
        self._tripped = size > self._limits.force or (self._tripped and size >= self._limits.force_release)
        limit = f"limit {self._limits.force:.1f} N, released below {self._limits.force_release:.1f} N"
        return f"force: {size:.1f} N, {limit}" if self._tripped else ""

    def _limited(self, goal: Pose, measured: Pose) -> Verdict:
        position, notes = self._position(goal.position, measured.position)
        turn, more = self._rotation(goal, measured)
        notes += more
        if position is None or turn is None:
            return Verdict(None, notes)
        turned = (Rotation.from_rotvec(turn) * self._reference.rotation).as_quat()
        self._sign = same_sign(turned, self._sign)
        return Verdict(Pose(position, self._sign), notes)

    def _position(self, goal: np.ndarray, measured: np.ndarray) -> tuple[np.ndarray | None, tuple[str, ...]]:
        """Leash first, box second: a projection onto a convex box that holds the measured point keeps the leash."""
        leash = self._limits.leash_translation
        start = np.clip(measured, self._lower, self._upper)
        if not self._leashed(start - measured, leash):
            return None, (f"workspace: measured position {_text(measured)} m is out of reach of the box",)
        near, notes = _shortened(goal - measured, leash, "mm", 1e3)
        boxed = np.clip(measured + near, self._lower, self._upper)
        if not np.array_equal(boxed, measured + near):
            box = f"{_text(self._lower)} to {_text(self._upper)} m"
            notes += (f"workspace: target position {_text(goal)} m, box {box}",)
        return _furthest(start, boxed, lambda point: self._leashed(point - measured, leash)), notes

    def _rotation(self, goal: Pose, measured: Pose) -> tuple[np.ndarray | None, tuple[str, ...]]:
        """As `_position`, in rotation vectors about the reference pose: taken from there, small angles never wrap."""
        leash = self._limits.leash_rotation
        start = np.clip(self._reference.to(measured)[1], -self._turn, self._turn)

        def allowed(turn: np.ndarray) -> bool:
            turned = self._reference.moved(np.zeros(3), turn)
            return self._leashed(measured.to(turned)[1], leash)

        if not allowed(start):
            return None, ("workspace: the measured rotation is out of reach of the limits",)
        near, notes = _shortened(measured.to(goal)[1], leash, "rad", 1.0)
        wanted = self._reference.to(measured.moved(np.zeros(3), near))[1]
        boxed = np.clip(wanted, -self._turn, self._turn)
        if not np.array_equal(boxed, wanted):
            notes += (f"workspace: target rotation {_text(wanted)} rad, limits +-{_text(self._turn)} rad",)
        return _furthest(start, boxed, allowed), notes

    @staticmethod
    def _leashed(step: np.ndarray, leash: float) -> bool:
        return bool(np.linalg.norm(step) <= leash + _ROUNDING)


def _pose(pose: Pose) -> Pose | None:
    try:
        return Pose.of(pose.position, pose.quaternion)
    except (TypeError, ValueError):
        return None


def _shortened(step: np.ndarray, leash: float, unit: str, scale: float) -> tuple[np.ndarray, tuple[str, ...]]:
    length = float(np.linalg.norm(step))
    if length <= leash:
        return step, ()
    note = f"leash: target {length * scale:.2f} {unit} from the measured pose, limit {leash * scale:.2f} {unit}"
    return step * (leash / length), (note,)


def _furthest(start: np.ndarray, end: np.ndarray, allowed: Callable[[np.ndarray], bool]) -> np.ndarray:
    """The allowed point furthest along the segment from an allowed start to the end."""
    if allowed(end):
        return end
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if allowed(start + middle * (end - start)) else (low, middle)
    return start + low * (end - start)


def _text(values: np.ndarray) -> str:
    return "[" + " ".join(f"{value:.4g}" for value in values) + "]"

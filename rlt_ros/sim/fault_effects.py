"""What faults do to what a simulated robot says of itself. Times in s of robot time, stamps in ns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.sim.faults import KINDS, Fault, FaultSchedule

SECOND = 1_000_000_000
GUIDED_AT_MOST = 0.05
"""m that a person lifts the arm."""
_MODES = {
    "reflex": RobotMode.REFLEX,
    "user_stop": RobotMode.USER_STOPPED,
    "guiding": RobotMode.GUIDING,
    "controller_gone": RobotMode.IDLE,
}


class FaultyRobot:
    """The faults of one robot at the present moment. seed: of jitter.

    Call `advance` once per step; it says whether the arm has begun or ceased to follow commands, upon which its
    controller starts from where the arm is, as one that was activated again does.
    """

    def __init__(self, schedule: FaultSchedule, seed: int = 0) -> None:
        self.schedule = schedule
        self._now = 0.0
        self._active: tuple[Fault, ...] = ()
        self._frozen: dict[str, tuple[np.ndarray, int]] = {}
        self._due: dict[str, float] = {}
        self._rng = np.random.default_rng(seed)

    def advance(self, now: float) -> bool:
        """Go on to a moment; true where `deaf` has changed."""
        was_deaf = self.deaf
        self._now, self._active = now, self.schedule.at(now)
        return self.deaf != was_deaf

    @property
    def names(self) -> list[str]:
        """Faults that are there."""
        return [str(fault) for fault in self._active]

    def _find(self, kinds: Iterable[str], target: str = "") -> Fault | None:
        return next((f for f in self._active if f.kind in kinds and (not target or f.hits(target))), None)

    # arm and hand

    @property
    def deaf(self) -> bool:
        """The arm follows no command."""
        return any(KINDS[fault.kind].deaf for fault in self._active)

    @property
    def gripper_stuck(self) -> bool:
        """The fingers stand still."""
        return self._find(["gripper_stuck"]) is not None

    @property
    def lift(self) -> float | None:
        """m above the place where a person took hold of the arm, None if nobody has."""
        fault = self._find(["guiding"])
        return None if fault is None else min(GUIDED_AT_MOST, fault.value * (self._now - fault.start))

    @property
    def recovery_seconds(self) -> float:
        """s that error_recovery takes."""
        fault = self._find(["slow_recovery"])
        return 0.0 if fault is None else fault.value

    # state

    def state(self, state: RobotState) -> RobotState:
        """What the robot says that it measures."""
        stopped = self._find(_MODES)
        if stopped is not None:
            state = replace(state, mode=_MODES[stopped.kind], error=stopped.kind == "reflex")
        spike = self._find(["wrench_spike"])
        if spike is not None:
            state = replace(state, force=state.force + np.array([0.0, 0.0, spike.value]))
        return self._with_nan(state)

    def _with_nan(self, state: RobotState) -> RobotState:
        if self._find(["state_nan"], "current_pose"):
            state = replace(state, pose=Pose(np.full(3, np.nan), np.full(4, np.nan)))
        if self._find(["state_nan"], "joint_states"):
            state = replace(state, joint_positions=np.full(7, np.nan), joint_velocities=np.full(7, np.nan))
        if self._find(["state_nan"], "external_wrench"):
            state = replace(state, force=np.full(3, np.nan), torque=np.full(3, np.nan))
        if self._find(["state_nan"], "gripper_joint_states"):
            state = replace(state, gripper_width=float("nan"))
        return state

    def silent(self, stream: str) -> bool:
        """Whether a state topic says nothing."""
        return self._find(["state_lost"], stream) is not None

    # cameras

    def picture(self, camera: str, rgb: np.ndarray, stamp: int) -> tuple[np.ndarray, int] | None:
        """Picture and stamp that a camera gives in the place of a good one; None if it gives none."""
        if self._find(["camera_gone"], camera):
            return None
        if self._find(["camera_black"], camera):
            return np.zeros_like(rgb), stamp
        stuck = self._find(["camera_frozen", "camera_repeated"], camera)
        if stuck is None:
            self._frozen[camera] = (rgb, stamp)
            return rgb, stamp
        picture, old = self._frozen.setdefault(camera, (rgb, stamp))
        return picture, (stamp if stuck.kind == "camera_frozen" else old)

    def due(self, camera: str) -> float:
        """When a picture that was taken now comes out of its driver; never before an earlier one."""
        late, uneven = self._find(["latency"], camera), self._find(["jitter"], camera)
        delay = (late.value if late else 0.0) + (self._rng.uniform(0.0, uneven.value) if uneven else 0.0)
        self._due[camera] = max(self._now + delay, self._due.get(camera, 0.0))
        return self._due[camera]

    # clock

    @property
    def clock_offset(self) -> int:
        """ns to add to every stamp."""
        fault = self._find(["clock_jump"])
        return 0 if fault is None else round(fault.value * SECOND)

    @property
    def clock_stopped(self) -> bool:
        """/clock is silent."""
        return self._find(["clock_stopped"]) is not None

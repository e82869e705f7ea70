"""Start poses that a person has saved at the arm: practise from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.safety import Safety

START_REQUESTS = (Request.START_HERE, Request.START_ANYWHERE)
MOST = 20
"""Poses that are kept; nobody means more."""
_SAME_TRANSLATION, _SAME_ROTATION = 0.002, 0.02


class StartPoses:
    """Poses of the tool in the base frame from which practice goes on; none: from the robot config's start.

    The reset adds its random offset (`reset.start.spread` and `rotation`, never down) to whichever the seed takes.
    Evaluations never begin from them, so that their results can be compared. teleports: the simulator resets by itself,
    from its own start states, and has no such poses.
    """

    def __init__(self, robot: RobotConfig, teleports: bool = False) -> None:
        self._reference, self._safety = robot.reference, Safety(robot.limits, robot.reference)
        self._teleports = teleports
        self._here: Pose | None = None
        self._saved: list[Pose] = []

    @property
    def saved(self) -> tuple[Pose, ...]:
        """The poses, in the order in which they were saved."""
        return tuple(self._saved)

    def look(self, proprio: Sequence[float]) -> None:
        """Where the tool is. proprio: `types.PROPRIO_NAMES` of the newest observation."""
        self._here = self._reference.moved(proprio[1:4], proprio[4:7])

    def request(self, request: Request) -> Answer:
        """Answer one of START_REQUESTS."""
        if self._teleports:
            return Answer(False, f"{request.value}: the simulator teleports; start with reset:=motion")
        if request is Request.START_HERE:
            return self._add()
        forgotten, self._saved = len(self._saved), []
        if not forgotten:
            return Answer(False, f"{request.value}: no start pose is saved; practice begins where the config says")
        return Answer(True, f"{forgotten} saved start pose{'s' * (forgotten > 1)} forgotten")

    def start(self, plan: EpisodePlan | None) -> Pose | None:
        """Where the reset before a planned episode ends, before its random offset; None: as the config says."""
        if not self._saved or plan is None or plan.evaluation:
            return None
        return self._saved[plan.reset_seed % len(self._saved) if plan.reset_seed >= 0 else -1]

    def state(self) -> list[list[float]]:
        """What `take_up` needs, JSON-ready: x y z in m, quaternion x y z w."""
        return [[*map(float, pose.position), *map(float, pose.quaternion)] for pose in self._saved]

    def take_up(self, state: Sequence[Sequence[Any]]) -> None:
        """Go on in the place of a process that was lost."""
        self._saved = [Pose.of(values[:3], values[3:]) for values in state]

    def _add(self) -> Answer:
        name, here = Request.START_HERE.value, self._here
        if here is None:
            return Answer(False, f"{name}: where the arm is is not known yet")
        where = f"{here.position.round(3).tolist()} m"
        if not self._safety.inside(here):
            return Answer(False, f"{name}: {where} lies outside the workspace of the robot config")
        if any(_same(here, pose) for pose in self._saved):
            return Answer(False, f"{name}: {where} is saved already")
        if len(self._saved) == MOST:
            return Answer(False, f"{name}: {MOST} poses are saved; start_anywhere forgets them")
        self._saved.append(here)
        return Answer(True, f"start pose {len(self._saved)} saved: {where}; the next resets end there")


def _same(a: Pose, b: Pose) -> bool:
    step, turn = a.to(b)
    return bool((abs(step) < _SAME_TRANSLATION).all() and (abs(turn) < _SAME_ROTATION).all())

"""Real time: what the controller is told between two observations, and the hold that no observation is needed for."""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.setpoints import Setpoints
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState
from rlt_ros.types import Driver


@dataclass(frozen=True)
class Command:
    """Pose for the controller now. still: the arm is to stand there; else it is on its way."""

    pose: Pose
    still: bool


class Motion:
    """Turns the executor's steps into set-points, each of which passes the safety module against the newest measured
    state before it leaves. Where one may not, the queue is dropped and the last one that left is held.
    """

    def __init__(self, executor: ChunkExecutor, points: Setpoints) -> None:
        self._executor, self._points = executor, points
        self._point: Pose | None = None
        self._sent: Pose | None = None
        self.reason = ""
        """Why the set-points stand, from `halt` until a step drives again; empty while they may move."""

    @property
    def standing(self) -> Pose | None:
        """The last set-point; None if nothing is commanded."""
        return self._sent

    def follow(self, result: StepResult, measured: Pose, now: float) -> None:
        """Take the answer to an observation. measured: pose to start from if nothing was commanded. now: steady s."""
        if result.target is None:
            self.release()
        elif result.executed.driver is Driver.HOLD:
            self._points.stand(result.target)
        else:
            self.reason = ""
            self._points.aim(result.target, now, measured)

    def release(self) -> None:
        """Command nothing until the next target: the robot is reset, or stands where no target may lie."""
        self._points.release()
        self._point = self._sent = None

    def halt(self, reason: str) -> None:
        """Hold from now on, whether or not another observation comes."""
        if self.reason or self._points.goal is None:
            return
        self.reason = reason
        if self._sent is None:
            self.release()
        else:
            self._points.stand(self._sent)
        self._executor.interrupt(self._sent)

    def command(self, now: float, state: RobotState | None) -> Command | None:
        """The command of the moment, None for none. state: newest measured one, None if it is too old to judge by: then
        what was sent last stays."""
        point = self._points.at(now)
        if point is None:
            return None
        still, self._point = point is self._point, point
        if state is None:
            return self._refused("state: nothing recent was measured", None)
        verdict = self._executor.judge(point, state)
        if verdict.target is None:
            return self._refused("; ".join(verdict.reasons), state)
        self._sent = verdict.target
        return Command(verdict.target, still)

    def _refused(self, reason: str, state: RobotState | None) -> Command | None:
        self.halt(reason)
        # The executor's holds may have moved on to where the arm is now: to stand there is no motion.
        point = self._points.last
        if state is not None and point is not None and self._executor.near(point, state):
            self._sent = point
        return None if self._sent is None else Command(self._sent, True)

"""What there is to be seen at a moment, in the robot's base frame."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from rlt_ros.monitor.target import TargetTrack, path
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.types import ACTION_NAMES, ActionChunk, Driver, ExecutedStep

PATH_STEPS = 200
"""Executed steps that stay in sight: ten seconds at 20 Hz."""
FRESH = 1.0
"""s for which a chunk, a pose or a text is shown without a newer one."""


@dataclass(frozen=True)
class Trace:
    """A line through positions (n, 3) in m. drivers: (n,), who drove to each; None where that has no meaning."""

    positions: np.ndarray
    drivers: tuple[Driver, ...] | None = None


@dataclass(frozen=True)
class Scene:
    """Parts that are known and fresh, None otherwise. tool: pose; force: (3,) in N; box: lower and upper corner, (3,)
    in m each, of the workspace.
    """

    box: tuple[np.ndarray, np.ndarray]
    reference: Trace | None = None
    actor: Trace | None = None
    executed: Trace | None = None
    tool: Pose | None = None
    force: np.ndarray | None = None
    text: str = ""


class SceneKeeper:
    """Collects what comes from the topics. now: s on a clock that never jumps.

    A chunk is drawn from where it starts: the executor's target at its observation.
    """

    def __init__(self, robot: RobotConfig) -> None:
        workspace = robot.limits.workspace
        self._box = (np.array(workspace.lower), np.array(workspace.upper))
        self._space, self._track = robot.action_space, TargetTrack(robot)
        self._done: deque[tuple[np.ndarray, Driver]] = deque(maxlen=PATH_STEPS)
        self._tool: tuple[Pose, np.ndarray] | None = None
        self._reference: Trace | None = None
        self._actor: Trace | None = None
        self._text = ""
        self._at: dict[str, float] = {}
        self._last_step = 0

    def measured(self, pose: Pose, force: np.ndarray, now: float) -> None:
        """Pose of the tool and the external force (3,) in N along the base axes."""
        self._tool, self._at["tool"] = (pose, force), now

    def executed(self, step: ExecutedStep, now: float) -> None:
        """A step was executed; one that is repeated changes nothing. A restarted executor counts on."""
        if step.observation_id == self._last_step:
            return
        self._last_step = step.observation_id
        pose = self._pose(now)
        self._track.executed(step, pose)
        if step.reset_done:
            self._done.clear()
        elif pose is not None and step.driver is not Driver.RESET:
            self._done.append((pose.position, step.driver))

    def referred(self, observation_id: int, reference: np.ndarray, now: float) -> None:
        """The VLA's chunk (H, 7) for an observation."""
        self._reference, self._at["reference"] = self._trace(observation_id, reference, now), now

    def chosen(self, chunk: ActionChunk, now: float) -> None:
        """A chunk that the actor node sent; one of the VLA's own is no second line."""
        if chunk.driver is Driver.ACTOR:
            self._actor, self._at["actor"] = self._trace(chunk.features_id, chunk.actions, now), now

    def said(self, text: str, now: float) -> None:
        """What the text shall say."""
        self._text, self._at["text"] = text, now

    def scene(self, now: float) -> Scene:
        """What is fresh."""
        tool = self._tool if self._is_fresh("tool", now) else None
        return Scene(
            box=self._box,
            reference=self._reference if self._is_fresh("reference", now) else None,
            actor=self._actor if self._is_fresh("actor", now) else None,
            executed=self._executed(),
            tool=None if tool is None else tool[0],
            force=None if tool is None else tool[1],
            text=self._text if self._is_fresh("text", now) else "",
        )

    def _executed(self) -> Trace | None:
        if len(self._done) < 2:
            return None
        return Trace(np.array([position for position, _ in self._done]), tuple(driver for _, driver in self._done))

    def _trace(self, observation_id: int, actions: np.ndarray, now: float) -> Trace | None:
        start = self._track.start(observation_id, self._pose(now))
        # What the executor refuses is no way that the arm will go.
        sound = actions.ndim == 2 and actions.shape[1] == len(ACTION_NAMES) and np.isfinite(actions).all()
        return Trace(path(self._space, start, actions)) if sound and start is not None else None

    def _pose(self, now: float) -> Pose | None:
        return self._tool[0] if self._tool is not None and self._is_fresh("tool", now) else None

    def _is_fresh(self, part: str, now: float) -> bool:
        return now - self._at.get(part, -np.inf) <= FRESH

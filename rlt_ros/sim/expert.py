"""Scripted demonstrators: one that knows where the hole is, and one that is systematically wrong about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.truth import Truth
from rlt_ros.types import GRIPPER

CLOSED = -1.0


class Policy(Protocol):
    """Anything that turns truth and the last target into an action (7,) of the action space."""

    def reset(self) -> None:
        """A new episode begins."""

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """The next action float32 (7,), a delta from the last target."""


@dataclass(frozen=True)
class ExpertConfig:
    """How the expert moves."""

    clear_height: float = 0.004
    """m, above the board: it goes no lower until the tip is over its goal."""
    aligned: float = 0.0012
    """m, lateral distance to the goal that counts as over it."""
    turned: float = 0.03
    """rad, distance to the turn that the hole asks for, if it does, that counts as turned with it."""
    lowering: float = 0.00125
    """m per control step, how fast it lowers the tip: 25 mm/s at 20 Hz, as a careful person does."""


class Expert:
    """Moves the tip over the goal, upright, turned where the hole asks for it, then down into the hole: 5 mm steps at
    most, the gripper held closed."""

    def __init__(self, robot: RobotConfig, config: ExpertConfig | None = None) -> None:
        self._config = config or ExpertConfig()
        self._space = robot.action_space
        self._upright = robot.reference.rotation

    def reset(self) -> None:
        """Nothing to forget."""

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """Action float32 (7,) towards the true hole; `measured` and `target` are tool poses in the base frame."""
        return self.towards(np.zeros(2), truth, measured, target)

    def towards(self, offset: np.ndarray, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """Action float32 (7,) towards a goal beside the hole. offset: (2,), m, along the base's x and y."""
        goal, wanted = truth.hole.position + [*offset, 0.0], self._orientation(truth)
        lever = measured.rotation.inv().apply(truth.tip - measured.position)
        over = self._over(truth, measured, truth.tip - goal)
        height = self._tip_height(over, float((truth.tip - goal)[2]), target.position + wanted.apply(lever) - goal)
        position = goal + [0.0, 0.0, height] - wanted.apply(lever)
        _, turn = target.to(Pose(position, wanted.as_quat()))
        action = np.concatenate(
            [(position - target.position) / self._space.translation, turn / self._space.rotation, [CLOSED]]
        )
        return np.clip(action, -1.0, 1.0).astype(np.float32)

    def _orientation(self, truth: Truth) -> Rotation:
        if math.isnan(truth.turn):
            return self._upright
        return Rotation.from_rotvec([0.0, 0.0, truth.turn]) * self._upright

    def _over(self, truth: Truth, measured: Pose, tip: np.ndarray) -> bool:
        """Whether the peg may go down. tip: (3,), relative to the goal."""
        if np.hypot(tip[0], tip[1]) >= self._config.aligned:
            return False
        missing = (self._orientation(truth) * measured.rotation.inv()).as_rotvec()[2]
        return math.isnan(truth.turn) or abs(float(missing)) < self._config.turned

    def _tip_height(self, over: bool, tip: float, commanded: np.ndarray) -> float:
        """Height over the board that the tip should be commanded to. tip: its height, m. commanded: (3,), from the
        goal."""
        lower = float(commanded[2]) - self._config.lowering
        return lower if over else max(lower, min(self._config.clear_height, tip))


@dataclass(frozen=True)
class DemonstratorConfig:
    """Errors of an imperfect operator, and how he moves. Lengths in m."""

    bias: tuple[float, float] = (0.0022, -0.0014)
    """Constant error of the goal along the base's x and y: what a policy cloned from him inherits."""
    mark_error: float = 0.0
    """Error of the goal in the direction of the board's mark: it shows in the pictures and in nothing else."""
    side_error: float = 0.0
    """Error of the goal across the hole, along the board's y, to one side or the other: which one is drawn for each
    episode, so that what he does has two modes."""
    episode_error: float = 0.0015
    """Standard deviation of a further error per axis, drawn for each episode."""
    chunk_error: float = 0.0015
    """Standard deviation of a further error per axis, drawn for each chunk."""
    noise: float = 0.15
    """Standard deviation of the noise on the six motion values of every action."""
    chunk: int = 10
    """Control steps that are planned at once and carried out without looking."""
    expert: ExpertConfig = ExpertConfig(aligned=0.003)
    """How he moves."""


class Demonstrator:
    """An expert with a systematic error who acts in open-loop chunks; the same seed gives the same sequence.

    side: error across the hole in this episode, m.
    """

    def __init__(self, robot: RobotConfig, config: DemonstratorConfig | None = None, seed: int = 0) -> None:
        self._config = config or DemonstratorConfig()
        self._expert = Expert(robot, self._config.expert)
        self._space = robot.action_space
        self._rng = np.random.default_rng(seed)
        self.reset()

    def reset(self) -> None:
        """A new episode: a new error, and no chunk under way."""
        self._error = np.array(self._config.bias) + self._rng.normal(0.0, self._config.episode_error, 2)
        self.side = self._drawn_side()
        self._queue: list[np.ndarray] = []

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """The next action float32 (7,); a new chunk is planned when the last one is used up."""
        if not self._queue:
            self._queue = list(self.plan(truth, measured, target))
        return self._queue.pop(0)

    def plan(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """A chunk float32 (chunk, 7), planned as if the tip followed every command."""
        offset = self._error + self._mark_error(truth) + self._side_error(truth)
        offset = offset + self._rng.normal(0.0, self._config.chunk_error, 2)
        rows = []
        for _ in range(self._config.chunk):
            row = self._expert.towards(offset, truth, measured, target)
            row[:GRIPPER] += self._rng.normal(0.0, self._config.noise, GRIPPER).astype(np.float32)
            rows.append(np.clip(row, -1.0, 1.0))
            target = self._space.target(target, rows[-1])
            truth, measured = _followed(truth, measured, target)
        return np.array(rows, dtype=np.float32)

    def _drawn_side(self) -> float:
        error = self._config.side_error
        # Without the error nothing is drawn: the sequence of whoever has none stays what it was.
        return error * float(self._rng.choice([-1.0, 1.0])) if error else 0.0

    def _side_error(self, truth: Truth) -> np.ndarray:
        return truth.hole.rotation.apply([0.0, self.side, 0.0])[:2]

    def _mark_error(self, truth: Truth) -> np.ndarray:
        error = self._config.mark_error
        if error == 0.0:
            return np.zeros(2)
        if math.isnan(truth.mark):
            raise ValueError(f"mark_error is {error} m, but the board carries no mark (board.mark)")
        return error * np.array([math.cos(truth.mark), math.sin(truth.mark)])


def _followed(truth: Truth, measured: Pose, target: Pose) -> tuple[Truth, Pose]:
    """Truth and measured pose if the tool were at the target, as far as `Expert.towards` looks at them."""
    lever = measured.rotation.inv().apply(truth.tip - measured.position)
    tip = target.position + Rotation.from_quat(target.quaternion).apply(lever)
    return replace(truth, tip=tip), target

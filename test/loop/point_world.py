"""A tiny world for the whole loop: a point that must reach a goal 30 mm below its start and a little to the side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from loop_parts import CENTRE, ROBOT, state

from rlt_ros.loop.parts import Parts
from rlt_ros.loop.requests import Request
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState
from rlt_ros.types import Features, Mode, Observation, Phase, PolicyWeights, Transition

DEPTH = np.array([0.0, 0.0, -0.03])


@dataclass(frozen=True)
class Offset:
    """The truth: from the point to the goal, m."""

    left: np.ndarray

    @property
    def success(self) -> bool:
        return bool(np.linalg.norm(self.left) < 0.003)


class PointWorld:
    """The point goes where it is told, at once. The goal's side depends on the seed."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.widths: list[float] = []
        self.renders = 0
        self.reset(0)
        self.seeds.clear()

    def reset(self, seed: int | None) -> None:
        self.seeds.append(seed)
        self.at, self.target = CENTRE.copy(), CENTRE.copy()
        self.goal = CENTRE + DEPTH + [np.random.default_rng(seed).uniform(-0.01, 0.01), 0.0, 0.0]

    def state(self) -> RobotState:
        return state(0, self.at)

    def truth(self) -> Offset:
        return Offset(self.goal - self.at)

    def render(self) -> dict[str, np.ndarray]:
        """The goal's direction, written into a pixel."""
        self.renders += 1
        left = np.clip((self.goal - self.at) * 1000 + 128, 0, 255).astype(np.uint8)
        return {"front": np.broadcast_to(left, (4, 4, 3)).copy()}

    def refuses(self, target: Pose, measured: RobotState) -> str:
        return ""

    def command(self, target: Pose) -> None:
        self.target = target.position

    hold = command

    def command_gripper(self, width: float) -> None:
        self.widths.append(width)

    def step(self) -> None:
        self.at = self.target.copy()


class PointExtractor:
    """A reference that goes down but not sideways, so that the base fails where the goal lies aside."""

    def __init__(self) -> None:
        self.passes: list[int] = []

    def features(self, observations: list[Observation]) -> list[Features]:
        self.passes += [o.id for o in observations]
        return [self._one(o) for o in observations]

    @staticmethod
    def _one(o: Observation) -> Features:
        left = o.images["front"][0, 0].astype(np.float32) - 128.0
        reference = np.zeros((12, 7), np.float32)
        reference[:, 2] = np.clip(left[2] / 50.0, -0.5, 0.5)
        reference[:, 6] = -0.9
        return Features(o.id, o.stamp, o.episode, o.step, left, o.proprio, reference)


class PointOperator:
    """Begins at once, labels from the truth, may help in one phase."""

    def __init__(self, helps: bool = False) -> None:
        self.helps = helps

    def decide(
        self, truth: Offset, phase: Phase, steps_in_phase: int, mode: Mode, may_help: bool = True
    ) -> list[Request]:
        if phase is Phase.APPROACH:
            return [Request.BEGIN] if steps_in_phase >= 3 else []
        if truth.success:
            return [Request.SUCCESS]
        if self.helps and steps_in_phase == 15:
            return [Request.MODE_HUMAN]
        return [Request.FAILURE] if steps_in_phase >= 40 else []


class PointPerson:
    """Drives straight to the goal."""

    def action(self, truth: Offset, measured: Pose, target: Pose) -> np.ndarray:
        wanted = np.clip((measured.position + truth.left - target.position) / 0.005, -1.0, 1.0)
        return np.array([*wanted, 0, 0, 0, -1.0])


class SideStep:
    """The learned policy: the reference, and sideways to where the picture shows the goal."""

    def __init__(self, version: int) -> None:
        self.version = version

    def act(self, features: Features, evaluation: bool) -> np.ndarray:
        chunk = features.reference[:10].copy()
        chunk[:, 0] = np.clip(features.z[0] / 50.0, -1.0, 1.0)
        return chunk


class PointLearner:
    """Opens its gate after so many rows; every phase with rows gives a new version."""

    def __init__(self, gate_rows: int = 60) -> None:
        self.gate_rows, self.rows, self.due_updates, self.version = gate_rows, [], 0, 0
        self.log: list[str] = []

    def add(self, rows: list[Transition]) -> int:
        self.rows += rows
        self.due_updates += len(rows)
        self.log.append("add")
        return len(rows)

    def train(self, max_updates: int, stop: Callable[[], bool]) -> int:
        done = min(self.due_updates, max_updates)
        self.due_updates -= done
        self.log.append(f"train {done}")
        return done

    def weights(self) -> PolicyWeights:
        assert self.due_updates == 0, "weights are taken when the debt is spent"
        self.version += 1
        self.log.append("weights")
        return PolicyWeights(self.version, "c", "", len(self.rows) >= self.gate_rows, "", b"")


def parts(operator: PointOperator | None = None, learner: PointLearner | None = None) -> Parts:
    return Parts(
        robot=ROBOT,
        world=PointWorld(),
        extractor=PointExtractor(),
        operator=operator or PointOperator(),
        person=PointPerson(),
        learner=learner or PointLearner(),
        load=lambda weights: SideStep(weights.version),
        image_size=4,
        chunk=10,
    )

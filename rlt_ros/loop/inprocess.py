"""The whole loop in one process, without ROS: the same classes as the nodes, in the order of the lockstep graph.

    python -m rlt_ros.loop.inprocess --checkpoint DIR --minutes 7 --eval-episodes 50 --seed 1
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rlt_ros.data.images import square
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.executor import ChunkExecutor, HumanCommand, StepResult
from rlt_ros.loop.outbox import Outbox
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.policy import ChunkPolicy, Policy
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.types import (
    EpisodeEvent,
    Features,
    Label,
    Mode,
    Observation,
    Phase,
    PolicyMode,
    PolicyWeights,
    Transition,
)

BATCH = 16
"""Observations in one VLA pass after a label."""


class World(Protocol):
    """What is simulated (`sim.peg.PegInsertion`)."""

    def reset(self, seed: int | None) -> None:
        """Start an episode."""

    def state(self) -> RobotState:
        """What the arm measures."""

    def truth(self) -> Any:
        """What only a simulator knows."""

    def render(self) -> dict[str, np.ndarray]:
        """Camera pictures uint8 (h, w, 3); the same again until the next step."""

    def command(self, target: Pose) -> None:
        """Target of the tool centre point."""

    def command_gripper(self, width: float) -> None:
        """Width of the gripper, m."""

    def step(self) -> None:
        """Advance by one control period."""


class Extractor(Protocol):
    """Observations to features (`token.extractor.FeatureExtractor`)."""

    def features(self, observations: Sequence[Observation]) -> list[Features]:
        """One seeded pass per observation."""


class Operator(Protocol):
    """The person at the switch (`sim.operator.ScriptedOperator`)."""

    def decide(self, truth: Any, phase: Phase, steps_in_phase: int, mode: Mode) -> list[Request]:
        """Buttons to press at one observation."""


class Person(Protocol):
    """Who drives when the operator takes over (`sim.expert.Expert`)."""

    def action(self, truth: Any, measured: Pose, target: Pose) -> np.ndarray:
        """Action (7,)."""


class Learner(Protocol):
    """Rows in, weights out (`rl.learner.Learner`)."""

    def add(self, rows: list[Transition]) -> int:
        """Store rows."""

    def train(self, max_updates: int) -> int:
        """Make updates that were earned, so many at most; how many."""

    def weights(self) -> PolicyWeights:
        """The newest weights."""


@dataclass(frozen=True)
class Parts:
    """What the loop is made of. load: weights to a policy; image_size: side of the square policy images."""

    robot: RobotConfig
    world: World
    extractor: Extractor
    operator: Operator
    person: Person
    learner: Learner
    load: Callable[[PolicyWeights], Policy]
    image_size: int


class InProcess:
    """Runs a session: observe, operator, features at decisions, chunk, executor, world; at the end of a phase rows, all
    earned updates, new weights.

    chunk: C. sigma, hold: held exploration noise; stride: control steps between windows. Pictures are taken of the
    observations that a decision or a window needs. on_episode is called after each labelled phase.
    """

    def __init__(
        self,
        parts: Parts,
        config: SessionConfig,
        chunk: int = 10,
        sigma: float = 0.1,
        hold: int = 5,
        stride: int = 2,
        on_episode: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self._parts, self._stride, self._on_episode = parts, stride, on_episode
        # As in the graph: RL is asked for throughout, and without usable weights the policy lets the VLA drive.
        gate = lambda: (True, "")  # noqa: E731
        self.session = Session(config, gate)
        self.conductor = Conductor(PhaseMachine(gate), self.session)
        self.executor = ChunkExecutor(parts.robot, chunk)
        self.policy = ChunkPolicy(chunk, sigma, hold, config.seed)
        self.windows = WindowAssembler(chunk, stride)
        self.outbox = Outbox("inprocess", bound=1)
        self._period = round(1e9 / parts.robot.control_rate)
        self._observations: dict[int, Observation] = {}
        self._known: set[int] = set()
        self._id = self._episode = self._step = 0
        self._version = self._applied = 0

    def run(self) -> dict[str, Any]:
        """Run the session to its end; returns the summary, JSON-ready."""
        started = time.monotonic()
        while not self.conductor.finished:
            self.step()
        return {
            "seed": self.session.config.seed,
            **self.session.results(),
            "practice": self.session.practice,
            "robot_time_s": self.conductor.robot_steps / self._parts.robot.control_rate,
            "wall_time_s": time.monotonic() - started,
            "rows": self.outbox.published,
            "rows_dropped": dict(self.windows.counts),
            "weights": {"published": self._version, "applied": self._applied},
            "driven": dict(self.executor.counts),
        }

    def step(self) -> None:
        """One control period."""
        self._id += 1
        stamp = self._id * self._period
        state = replace(self._parts.world.state(), stamp=stamp)
        truth = self._parts.world.truth()
        self._press(truth)
        word = self.conductor.observe(self._id, stamp, self._episode)
        self.windows.mode(word.mode)
        for event in word.events:
            self._keep(stamp, state)
            self._close(event)
        if self._on_grid(word.mode):
            self._keep(stamp, state)
        self._carry_out(self._decided(stamp, state, truth, word.mode))

    # the operator

    def _press(self, truth: Any) -> None:
        machine = self.conductor.machine
        for request in self._requests(machine.phase, truth):
            machine.request(request)

    def _requests(self, phase: Phase, truth: Any) -> list[Request]:
        if phase is Phase.IDLE:
            return [Request.RESET]
        if phase is Phase.LABELLED:
            return []  # the session's next plan has begun the reset
        executed = self.conductor.executed
        mode = Mode.HUMAN if executed is not None and self.conductor.mode is Mode.HUMAN else Mode.RL
        return self._parts.operator.decide(truth, phase, self.conductor.steps_in_phase, mode)

    # one decision

    def _decided(self, stamp: int, state: RobotState, truth: Any, mode: PolicyMode) -> StepResult:
        result = self._ask(stamp, state, truth, mode)
        if result is None:
            features = self._features([self._keep(stamp, state)])[0]
            chunk = self.policy.decide(features, mode)
            self.windows.chunk(chunk)
            self.executor.offer(chunk)
            result = self._ask(stamp, state, truth, mode)
        elif result.wants_reset:
            self._parts.world.reset(mode.reset_seed if mode.reset_seed >= 0 else None)
            self.executor.reset_finished(True)
            result = self._ask(stamp, state, truth, mode)
        return result

    def _ask(self, stamp: int, state: RobotState, truth: Any, mode: PolicyMode) -> StepResult | None:
        human = None
        if mode.mode is Mode.HUMAN:
            action = self._parts.person.action(truth, state.pose, self.executor.hold() or state.pose)
            human = HumanCommand(self._id, stamp, action)
        return self.executor.step(self._id, stamp, self._episode, self._step, state, mode, human)

    def _carry_out(self, result: StepResult) -> None:
        world, gripper, done = self._parts.world, self._parts.robot.gripper, result.executed
        if result.target is not None:
            world.command(result.target)
        if result.gripper is not None:
            world.command_gripper(gripper.open_width if result.gripper > 0 else gripper.closed_width)
        world.step()
        self.conductor.add_executed(done)
        self.windows.executed(done)
        self._step = 0 if done.reset_done else self._step + 1
        self._episode += done.reset_done

    # observations and features

    def _on_grid(self, mode: PolicyMode) -> bool:
        """Whether a window may start or end here; windows lie on a grid that begins with the phase."""
        recorded = mode.phase is Phase.CRITICAL and mode.record
        return recorded and self.conductor.steps_in_phase % self._stride == 0

    def _keep(self, stamp: int, state: RobotState) -> Observation:
        if self._id not in self._observations:
            parts = self._parts
            twist = tool_twist(state.joint_positions, state.joint_velocities)
            images = {name: square(image, parts.image_size) for name, image in parts.world.render().items()}
            proprio = proprioception(state, parts.robot.reference, twist)
            observation = Observation(self._id, stamp, self._episode, self._step, images, proprio)
            self._observations[self._id] = observation
        return self._observations[self._id]

    def _features(self, observations: list[Observation]) -> list[Features]:
        made = self._parts.extractor.features(observations)
        for features in made:
            self.windows.features(features)
        return made

    # the end of a phase

    def _close(self, event: EpisodeEvent) -> None:
        assembly = self.windows.finish(event)
        while assembly.missing:
            self._features([self._observations[i] for i in assembly.missing[:BATCH]])
            assembly = self.windows.finish(event)
        self._observations.clear()
        rows = self.outbox.put(assembly.rows)
        if rows:
            self._learn(rows)
        self._on_episode(self.session)

    def _learn(self, rows: list[Transition]) -> None:
        learner = self._parts.learner
        learner.add(rows)
        while learner.train(1000):
            pass
        weights = learner.weights()
        if weights.version != self._version:
            self._version = weights.version
            self._applied += 1
            self.policy.swap(self._parts.load(weights) if weights.gate_open else None)

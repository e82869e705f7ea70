"""The whole loop in one process, without ROS: the same classes as the nodes, in the order of the lockstep graph."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rlt_ros.data.images import square
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.human import HumanCommand
from rlt_ros.loop.outbox import Outbox
from rlt_ros.loop.parts import Parts
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.policy import ChunkPolicy
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import EVALUATIONS, Evaluations, Session, SessionConfig
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.rl.trainer import Trainer
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.types import (
    Driver,
    EpisodeEvent,
    Features,
    Mode,
    Observation,
    Phase,
    PolicyMode,
    PolicyWeights,
    Transition,
    TransitionAck,
)

BATCH = 16
"""Observations in one VLA pass after a label: a quarter of the time of as many passes, the same to the sixth digit."""


def _always() -> tuple[bool, str]:
    """As in the graph: RL is asked for throughout, and without usable weights the policy lets the VLA drive."""
    return True, ""


@dataclass(frozen=True)
class Hooks:
    """What a run tells, to whoever wants to know.

    rows: new rows, before anything is learned from them. training: a slice of the updates that the robot waits for was
    made. weights: a new version, before it drives. episode: a labelled phase is learned from (`background` training:
    handed over), before the reset that follows it. picture: an observation was taken with its pictures.
    """

    rows: Callable[[list[Transition]], None] = lambda rows: None
    training: Callable[[InProcess], None] = lambda loop: None
    weights: Callable[[PolicyWeights], None] = lambda weights: None
    episode: Callable[[InProcess], None] = lambda loop: None
    picture: Callable[[Observation], None] = lambda observation: None


class InProcess:
    """Runs a session: observe, operator, features at decisions, chunk, executor, world; at the end of a phase rows, all
    earned updates, new weights.

    Pictures are taken of the observations that a decision or a window needs. background: the robot does not wait for
    the updates (`rl.trainer`), and what it has learned at a moment depends on the machine's speed. batch: observations
    in one VLA pass at most; with 1 rows and weights are those of the lockstep graph, bit for bit. stream: name of the
    rows' stream.
    """

    def __init__(
        self,
        parts: Parts,
        config: SessionConfig,
        loop: LoopConfig | None = None,
        background: bool = False,
        batch: int = BATCH,
        evaluations: Evaluations = EVALUATIONS,
        hooks: Hooks | None = None,
        stream: str = "inprocess",
    ) -> None:
        self._parts, self.config, self._hooks = parts, loop or LoopConfig(), hooks or Hooks()
        self.session = Session(config, _always, evaluations)
        self.conductor = Conductor(PhaseMachine(_always), self.session)
        self.executor = ChunkExecutor(parts.robot, parts.chunk, refuses=parts.world.refuses)
        self.policy = ChunkPolicy(parts.chunk, self.config.sigma, self.config.noise_hold, config.seed)
        self.windows = WindowAssembler(parts.chunk, self.config, 1.0 / parts.robot.control_rate)
        self.outbox = Outbox(stream, bound=1)
        self.trainer = Trainer(parts.learner, background, on_slice=self._on_slice, on_spent=self._on_spent)
        self._background, self._batch, self._learned = background, batch, False
        self.interrupted = False
        self.result: EpisodeResult | None = None  # of the episode that ended last
        self._period = round(1e9 / parts.robot.control_rate)
        self._observations: dict[int, Observation] = {}
        self._id = self._episode = self._step = 0
        self._version = self._applied = 0

    def run(self) -> dict[str, Any]:
        """Run the session to its end, or to `interrupt`; returns the summary, JSON-ready. Raises TrainingFailed."""
        started = time.monotonic()
        try:
            while not (self.conductor.finished or self.interrupted):
                self.trainer.check()
                self.step()
            self.trainer.wait()
        finally:
            self.trainer.stop()
        return {
            "seed": self.session.config.seed,
            **self.session.results(),
            "practice": self.session.practice,
            "robot_time_s": self.conductor.robot_steps / self._parts.robot.control_rate,
            "wall_time_s": time.monotonic() - started,
            "transitions": {"published": self.outbox.published, "received": self.outbox.acknowledged},
            "weights": {"published": self._version, "applied": self._applied},
            "rows_dropped": dict(self.windows.counts),
            "driven": dict(self.executor.counts),
        }

    def _on_slice(self) -> None:
        if not self._background:
            self._hooks.training(self)

    def _on_spent(self) -> None:
        self._learned = True

    def interrupt(self) -> None:
        """Let `run` end after this control step and training within one update; a signal handler may call it."""
        self.interrupted = True
        self.trainer.halt()

    def step(self) -> None:
        """One control period."""
        self._id += 1
        stamp = self._id * self._period
        state = replace(self._parts.world.state(), stamp=stamp)
        truth = self._parts.world.truth()
        self._press(truth)
        word = self.conductor.observe(self._id, stamp, self._episode)
        self.windows.mode(word.mode)
        for event, self.result in zip(word.events, word.results):
            if self.windows.sees_end(event):
                self._keep(stamp, state)
            self._close(event)
        if self._may_begin_window(word.mode):
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
        conductor = self.conductor
        mode, may_help = conductor.machine.mode, not conductor.evaluating
        return self._parts.operator.decide(truth, phase, conductor.steps_in_phase, mode, may_help)

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
            (world.hold if done.driver is Driver.HOLD else world.command)(result.target)
        if result.gripper is not None:
            world.command_gripper(gripper.open_width if result.gripper > 0 else gripper.closed_width)
        world.step()
        self.conductor.add_executed(done)
        self.windows.executed(done)
        self._step = 0 if done.reset_done else self._step + 1
        self._episode += done.reset_done

    # observations and features

    def _may_begin_window(self, mode: PolicyMode) -> bool:
        """Whether a window may start or end here; windows lie on a grid that begins with the first step they cover."""
        if self.config.store_from == "approach":
            covered, steps = mode.phase in (Phase.APPROACH, Phase.CRITICAL) and not mode.evaluation, self._step
        else:
            steps = self.conductor.steps_in_phase
            # A policy's phase begins with a decision, which keeps its observation; before it an older chunk runs on.
            begun = steps > 0 or mode.mode is Mode.HUMAN
            covered = mode.phase is Phase.CRITICAL and mode.record and begun
        if not self.config.short_windows:
            return covered  # aligned to an end that is not known yet
        # A window ends off the grid where C is no multiple of the stride.
        return covered and any((steps - offset) % self.config.stride == 0 for offset in (0, self._parts.chunk))

    def _keep(self, stamp: int, state: RobotState) -> Observation:
        if self._id not in self._observations:
            parts = self._parts
            twist = tool_twist(state.joint_positions, state.joint_velocities)
            images = {name: square(image, parts.image_size) for name, image in parts.world.render().items()}
            proprio = proprioception(state, parts.robot.reference, twist)
            observation = Observation(self._id, stamp, self._episode, self._step, images, proprio)
            self._observations[self._id] = observation
            self._hooks.picture(observation)
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
            self._features([self._observations[i] for i in assembly.missing[: self._batch]])
            assembly = self.windows.finish(event)
        self._observations.clear()
        rows = self.outbox.put(assembly.rows)
        if rows:
            self._hooks.rows(rows)
            self.trainer.add(rows)
            self.outbox.acknowledge(TransitionAck(self.outbox.stream, rows[-1].id, len(rows), 0, self._version))
        if self.conductor.evaluating:
            self.trainer.wait()  # what is evaluated has learned from everything
        self._take_weights()
        self._hooks.episode(self)

    def _take_weights(self) -> None:
        # As the learner node: weights are published when a phase is learned from, behind the robot's back at any time.
        if not (self._learned or self._background):
            return
        self._learned = False
        weights = self._parts.learner.weights()
        if weights.version != self._version:
            self._hooks.weights(weights)
            self._version = weights.version
            self._applied += 1
            self.policy.swap(self._parts.load(weights) if weights.gate_open else None)

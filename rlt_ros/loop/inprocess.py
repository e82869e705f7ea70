"""The whole loop in one process, without ROS: the same classes as the nodes, in the order of the lockstep graph.

python -m rlt_ros.loop.inprocess --checkpoint DIR --minutes 7 --eval-episodes 50 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rlt_ros.data.images import square
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.executor import ChunkExecutor, HumanCommand, StepResult
from rlt_ros.loop.outbox import Outbox
from rlt_ros.loop.parts import Parts, real_parts
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.policy import ChunkPolicy
from rlt_ros.loop.report import status_line
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.rl.config import AgentConfig
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.types import (
    EpisodeEvent,
    Features,
    Label,
    Mode,
    Observation,
    Phase,
    PolicyMode,
    Transition,
    TransitionAck,
)

BATCH = 16
"""Observations in one VLA pass after a label."""


def _always() -> tuple[bool, str]:
    """As in the graph: RL is asked for throughout, and without usable weights the policy lets the VLA drive."""
    return True, ""


class InProcess:
    """Runs a session: observe, operator, features at decisions, chunk, executor, world; at the end of a phase rows, all
    earned updates, new weights.

    sigma, hold: held exploration noise; stride: control steps between windows. Pictures are taken of the
    observations that a decision or a window needs. on_episode is called after each labelled phase.
    """

    def __init__(
        self,
        parts: Parts,
        config: SessionConfig,
        sigma: float = 0.1,
        hold: int = 5,
        stride: int = 2,
        on_episode: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self._parts, self._stride, self._on_episode = parts, stride, on_episode
        self.session = Session(config, _always)
        self.conductor = Conductor(PhaseMachine(_always), self.session)
        self.executor = ChunkExecutor(parts.robot, parts.chunk)
        self.policy = ChunkPolicy(parts.chunk, sigma, hold, config.seed)
        self.windows = WindowAssembler(parts.chunk, stride)
        self.outbox = Outbox("inprocess", bound=1)
        self._period = round(1e9 / parts.robot.control_rate)
        self._observations: dict[int, Observation] = {}
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
            if event.label is Label.ABORT:
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
        self.outbox.acknowledge(TransitionAck(self.outbox.stream, rows[-1].id, len(rows), 0, self._version))
        while learner.train(1000):
            pass
        weights = learner.weights()
        if weights.version != self._version:
            self._version = weights.version
            self._applied += 1
            self.policy.swap(self._parts.load(weights) if weights.gate_open else None)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: prints progress on standard error and the summary as JSON on standard output."""
    args = _parser().parse_args(argv)
    # MuJoCo and its renderer read these when they are first imported.
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("LP_NUM_THREADS", "0")
    agent = AgentConfig(use_z=not args.no_z)
    parts = real_parts(args.checkpoint, args.robot_config, args.seed, args.task, agent)
    config = SessionConfig(
        practice_minutes=args.minutes,
        control_rate=parts.robot.control_rate,
        eval_episodes=args.eval_episodes,
        seed=args.seed,
    )

    def report(session: Session) -> None:
        if session.progress.episode % args.report_every == 0:
            line = status_line(session.progress, config.control_rate, None, parts.learner.stats())
            print(line, file=sys.stderr, flush=True)

    summary = InProcess(parts, config, on_episode=report).run()
    stats = parts.learner.stats()
    summary["updates"] = {"critic": stats.critic_updates, "actor": stats.actor_updates}
    print(json.dumps(summary, indent=2))
    return 0


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m rlt_ros.loop.inprocess", description=__doc__)
    result.add_argument("--checkpoint", required=True, help="directory of the Stage-1 checkpoint")
    result.add_argument("--task", choices=list(TASKS), default=DEFAULT_TASK, help=f"default: {DEFAULT_TASK}")
    result.add_argument("--no-z", action="store_true", help="ablation: actor and critics see zeros instead of z_rl")
    result.add_argument("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    result.add_argument("--minutes", type=float, default=7.0, help="practice, minutes of robot time (default: 7)")
    result.add_argument("--eval-episodes", type=int, default=50, help="of each evaluation (default: 50)")
    result.add_argument("--seed", type=int, default=1, help="of everything (default: 1)")
    result.add_argument("--report-every", type=int, default=20, help="episodes between status lines (default: 20)")
    return result


if __name__ == "__main__":
    sys.exit(main())

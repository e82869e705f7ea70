"""The learner: transitions in; acknowledgements, weights, statistics and checkpoints out."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlt_ros import msg, srv
from rlt_ros.data.contract import read_contract
from rlt_ros.loop.config import RecordConfig
from rlt_ros.loop.processes import Life
from rlt_ros.nodes.convert import ack_to_message, learner_stats, transition_from_message, weights_to_message
from rlt_ros.nodes.diagnostics import OK, WARN, Diagnostics, Reports
from rlt_ros.nodes.link import HOST, LinkAnswer
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.robot_end import RobotEnd, robots
from rlt_ros.nodes.run_log import how_it_ended, life_of
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.ranges import Seconds
from rlt_ros.rl.alarms import AlarmLimits, AlarmNews
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.rl.trainer import EXIT_CODE, Trainer, TrainingFailed
from rlt_ros.types import PolicyWeights, TransitionAck, robot_of

OPEN_PHASE_PATIENCE = 10.0
"""Several robots in lockstep: seconds without a row after which half a phase no longer keeps the learner waiting."""
ANSWER_TIME = 3.0
"""Seconds between the last answer of a learner that ends by itself and its end."""


class LearnerNode(ManagedNode):
    """Everything that is sent or received happens in the callback thread; training has a thread of its own, so that
    updates never delay a row or a request for weights.

    In lockstep the simulator waits for the updates that a phase has earned, unless `async_training` is set. With
    several robots each waits, at the end of its own episodes, until nothing is left to learn from the rows of all.
    """

    def __init__(self) -> None:
        super().__init__("learner")
        self._checkpoint = declare(self, "checkpoint", "", "Directory of the Stage-1 checkpoint.")
        self._run_dir = Path(declare(self, "run_dir", "", "Directory for transitions, checkpoints and TensorBoard."))
        listed = declare(self, "robots", "", "Namespaces of the robots, with commas between; empty: this node's own.")
        self._robots = robots(listed, self.get_namespace())
        self._ends = declare(self, "end_with_sessions", False, "End when the sessions of all robots are over.")
        self._over: set[str] = set()
        self._end_at = math.inf
        help_text = "Real time: seconds between versions of the weights."
        self._weights_every = declare(self, "weights_every", 1.0, help_text, Seconds)
        self._record = declare_dataclass(self, RecordConfig)
        self._config = declare_dataclass(self, AgentConfig)
        self._limits = declare_dataclass(self, AlarmLimits)
        self._alarm_news = AlarmNews()
        self._is_waited_for = self.lockstep and not self._config.async_training
        self._trainer: Trainer | None = None
        self._spent = False
        self._acked: dict[str, TransitionAck] = {}
        self._weights: PolicyWeights | None = None
        self._weights_at = 0.0
        self._row_at = 0.0
        self._life: Life | None = None
        self._newest_stats: LearnerStats | None = None

    # lifecycle

    def setup(self) -> None:
        from rlt_ros.loop.inbox import Inbox
        from rlt_ros.rl.checkpoint import Saver, latest, resume
        from rlt_ros.rl.journal import Journal
        from rlt_ros.rl.learner import Learner
        from rlt_ros.rl.metrics import Metrics
        from rlt_ros.rl.origin import Origin, claim

        if not self._run_dir.name:
            raise ValueError("parameter run_dir is empty; expected the directory of this run")
        contract = read_contract(self._checkpoint)
        dims = Dims(*contract.sizes)
        self._learner = Learner(
            self._config,
            dims,
            contract.fingerprint,
            1e3 * contract.translation_scale,
            rotation_rad=contract.rotation_scale,
            limits=self._limits,
        )
        claim(self._run_dir / "transitions", Origin.of(self._learner))
        self._inbox = Inbox(Journal(self._run_dir / "transitions"), self._learner, contract.fingerprint)
        found = latest(self._run_dir / "checkpoints")
        resume(self._learner, self._inbox.replayed(), found)
        self._start_from_weights(found)
        self._acked = {ack.stream: ack for ack in self._inbox.taken_up()}
        self._saver = Saver(self._run_dir / "checkpoints", self._learner, self._record.save_every, self._record.keep)
        lines, warn = self._run_dir / "metrics.jsonl", self.get_logger().error
        self._metrics = Metrics(self._run_dir / "tensorboard", lines, warn, self._learner.progress.phases)
        self._connect()
        self._take_up_weights()
        self._life = life_of(self, self._run_dir)
        self.get_logger().info(f"{self._learner.rows} rows taken up, checkpoint {found or 'none'}")

    def _start_from_weights(self, checkpoint: Path | None) -> None:
        file = self._record.init_weights
        if not file:
            return
        if checkpoint is not None:
            self.get_logger().info(f"init_weights {file} not used: {checkpoint} is resumed")
            return
        self.get_logger().info(f"starting from version {self._learner.start_from(Path(file))} in {file}")

    def _connect(self) -> None:
        self._robot_ends = {robot: RobotEnd(self, robot) for robot in self._robots}
        LinkAnswer(self, self._robots, self._learner.contract)
        self.every(0.02, self._on_tick)
        self.every(1.0, self._on_second)
        Reports(self, tell=self._diagnose)

    def _take_up_weights(self) -> None:
        from rlt_ros.rl.weights import read_policy_file

        # Actors take newer versions only, and a killed learner may have given out more than its checkpoint knows of.
        earlier = read_policy_file(self._policy_file, self._learner.contract)
        if earlier is not None:
            self._learner.continue_from(earlier.version)
            self._weights = earlier

    @property
    def _policy_file(self) -> Path:
        return self._run_dir / "policy.safetensors"

    def start(self) -> None:
        self._trainer = Trainer(self._learner, True, self._phase_is_here, self._save_if_due, self._on_spent)

    def stop(self) -> None:
        self._trainer.stop()
        self._receipts()
        self._save()
        self._metrics.close()

    def close(self) -> None:
        super().close()
        if self._life is not None:
            self._life.ended(how_it_ended(self.exit_code))

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

    # receipt

    def on_transition(self, message: msg.Transition) -> None:
        """Take a row of any robot."""
        row = transition_from_message(message)
        self._row_at = time.monotonic()
        self._over.discard(robot_of(row.stream))
        try:
            self._inbox.receive(row, message.contract)
        except RuntimeError as error:
            # Not acknowledged, so the actor keeps it and sends it again.
            self.get_logger().error(f"transition {row.id}: {error}", throttle_duration_sec=1.0)

    def _on_tick(self) -> None:
        try:
            if self._trainer is not None:
                self._trainer.check()
        except TrainingFailed as error:
            self.get_logger().fatal(str(error))
            self.finish(EXIT_CODE)
            return
        if time.monotonic() > self._end_at:
            self.finish(0)
            return
        self._receipts()
        if self._spent or (not self._is_waited_for and time.monotonic() - self._weights_at > self._weights_every):
            self._spent = False
            self._publish_weights()
            self._publish_acks(self._acked.values())
        if self._weights is not None:
            self._give_weights()

    def _receipts(self) -> None:
        try:
            acks = self._inbox.flush()
        except RuntimeError as error:
            self.get_logger().error(f"rows are not safe: {error}", throttle_duration_sec=1.0)
            return
        if acks:
            self._acked |= {ack.stream: ack for ack in acks}
            self._publish_acks(acks)
            if self._trainer is not None:
                self._trainer.wake()

    def _publish_acks(self, acks: Any) -> None:
        # An actor in lockstep holds the next episode back until there is none.
        told = self._is_waited_for or not self.lockstep
        debt = self._learner.due_updates if told else 0
        version = self._weights.version if self._weights else 0
        for ack in acks:
            due = 0 if self._is_waited_for and self._learner.awaits(ack.stream) else debt
            current = replace(ack, update_debt=due, weights_version=version, rows=self._learner.rows)
            message = ack_to_message(current, self._now())
            for end in self._ends_of(ack.stream):
                end.acknowledge(message)

    def _ends_of(self, stream: str) -> list[RobotEnd]:
        own = self._robot_ends.get(robot_of(stream))
        return [own] if own else list(self._robot_ends.values())

    # training

    def _phase_is_here(self) -> bool:
        # In lockstep a phase is learned from when all of it is here: results must not depend on arrival times.
        return not (self._is_waited_for and self._learner.phase_open) or self._left_open()

    def _left_open(self) -> bool:
        # One robot that died while its rows were on their way must not keep the others waiting for ever.
        return len(self._robots) > 1 and time.monotonic() - self._row_at > OPEN_PHASE_PATIENCE

    def _on_spent(self) -> None:
        self._spent = True

    def _publish_weights(self) -> None:
        from rlt_ros.rl.weights import write_policy_file

        weights = self._learner.weights()
        self._weights_at = time.monotonic()
        if self._weights is None or weights.version > self._weights.version:
            self._weights = weights
            write_policy_file(self._policy_file, weights)

    def _give_weights(self) -> None:
        ends = [end for end in self._robot_ends.values() if end.lacks(self._weights.version)]
        message = weights_to_message(self._weights, self._now()) if ends else None
        for end in ends:
            end.give(message)

    # reports and requests

    def _on_second(self) -> None:
        stats = self._newest_stats = self._learner.stats(self._inbox.duplicates, self._inbox.refused)
        message = learner_stats(stats, self._now(), self._inbox.newest)
        for end in self._robot_ends.values():
            end.report(message)
        self._metrics.write(stats, self._learner.outcomes, self._learner.alarms)
        self._tell_alarms()
        # A sender that missed a receipt, or this learner's restart, waits for the next one.
        self._publish_acks(self._acked.values())
        if self._trainer is not None and self._left_open():
            self._trainer.wake()

    def _diagnose(self, say: Diagnostics) -> None:
        stats = self._newest_stats
        if stats is None:
            return
        rows = {"in_replay": stats.rows, "received": stats.rows_received, "refused": stats.refused}
        age = f"{stats.seconds_since_row:.1f} s"
        say.set("rows", OK, "safe on disk", duplicates=stats.duplicates, since_last=age, **rows)
        forgone = "updates were forgone: the learner is too slow" if stats.updates_forgone else ""
        made = {"critic": stats.critic_updates, "actor": stats.actor_updates, "forgone": stats.updates_forgone}
        rate = f"{stats.updates_per_second:.0f}"
        say.say("budget", forgone, "keeps up", WARN, owed=stats.update_debt, per_second=rate, **made)
        say.set("gate", OK, "open" if stats.gate_open else stats.gate_reason, weights_version=stats.weights_version)
        say.say("alarms", stats.alarms, "none", WARN)

    def _tell_alarms(self) -> None:
        raised, cleared = self._alarm_news.since(self._learner.alarms)
        for line in raised:
            self.get_logger().warning(line)
        for line in cleared:
            self.get_logger().info(line)

    def on_save(self, request: Any, response: srv.SaveCheckpoint.Response) -> srv.SaveCheckpoint.Response:
        """Write a checkpoint; end some seconds later if the session of the last robot is over."""
        path = self._save()
        response.success, response.path, response.host = path is not None, str(path or ""), HOST
        response.message = "" if path else "not written; the learner's log says why"
        self._on_second()
        if request.session_over:
            self._session_over(robot_of(request.stream))
        return response

    def _session_over(self, robot: str) -> None:
        self._over.add(robot)
        left = [r for r in self._robots if r not in self._over]
        self.get_logger().info(
            f"the session of {robot or 'the robot'} is over, {len(left)} of {len(self._robots)} go on"
        )
        if self._ends and not left:
            # The answer must get there first.
            self._end_at = time.monotonic() + ANSWER_TIME

    def _save_if_due(self) -> None:
        # In the trainer's thread: a slow disk then keeps neither rows nor requests waiting.
        if self._saver.due:
            self._save()

    def _save(self) -> Path | None:
        from rlt_ros.rl.checkpoint import CheckpointError

        if self._trainer is not None and self._trainer.failed:
            return None  # what is in the networks must not be used
        try:
            path = self._saver.save()
        except CheckpointError as error:
            self.get_logger().error(f"{error}; training goes on")
            return None
        self.get_logger().info(f"checkpoint {path}")
        return path

    def on_fetch(self, request: Any, response: srv.FetchWeights.Response) -> srv.FetchWeights.Response:
        """Answer with the newest weights."""
        response.success = self._weights is not None
        if self._weights is None:
            response.message = "nothing learned yet"
        else:
            response.weights = weights_to_message(self._weights, self._now())
        return response


def main() -> None:
    """Entry point."""
    run(LearnerNode)

"""The learner: transitions in; acknowledgements, weights, statistics and checkpoints out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlt_ros import msg, srv
from rlt_ros.data.contract import read_contract
from rlt_ros.loop.config import RecordConfig
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import ack_to_message, learner_stats, transition_from_message, weights_to_message
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.rl.alarms import AlarmLimits, AlarmNews
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.trainer import EXIT_CODE, Trainer, TrainingFailed
from rlt_ros.types import PolicyWeights, TransitionAck


class LearnerNode(ManagedNode):
    """Everything that is sent or received happens in the callback thread; training has a thread of its own, so that
    updates never delay a row or a request for weights.

    In lockstep the simulator waits for the updates that a phase has earned, unless `async_training` is set.
    """

    def __init__(self) -> None:
        super().__init__("learner")
        self._checkpoint = declare(self, "checkpoint", "", "Directory of the Stage-1 checkpoint.")
        self._run_dir = Path(declare(self, "run_dir", "", "Directory for transitions, checkpoints and TensorBoard."))
        self._weights_every = declare(self, "weights_every", 1.0, "Real time: seconds between versions of the weights.")
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
        self._acks = self.create_publisher(msg.TransitionAck, "transition_ack", qos.STEP)
        self._weights_out = self.create_publisher(msg.PolicyWeights, "policy_weights", qos.LATCHED)
        self._stats_out = self.create_publisher(msg.LearnerStats, "learner_stats", qos.STATS)
        self.listen(msg.Transition, "transition", self._on_transition, qos.TRANSITIONS)
        self.create_service(srv.SaveCheckpoint, "save_checkpoint", self._on_save)
        self.create_service(srv.FetchWeights, "fetch_weights", self._on_fetch)
        self.every(0.02, self._on_tick)
        self.every(1.0, self._on_second)

    def _take_up_weights(self) -> None:
        from rlt_ros.rl.weights import read_policy_file

        # Actors take newer versions only, and a killed learner may have given out more than its checkpoint knows of.
        earlier = read_policy_file(self._policy_file, self._learner.contract)
        if earlier is not None:
            self._learner.continue_from(earlier.version)
            self._weights = earlier
            self._weights_out.publish(weights_to_message(earlier, self._now()))

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

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

    # receipt

    def _on_transition(self, message: msg.Transition) -> None:
        row = transition_from_message(message)
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
        self._receipts()
        if self._spent or (not self._is_waited_for and time.monotonic() - self._weights_at > self._weights_every):
            self._spent = False
            self._publish_weights()
            self._publish_acks(self._acked.values())

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
        told = self._phase_is_here() and (self._is_waited_for or not self.lockstep)
        debt = self._learner.due_updates if told else 0
        version = self._weights.version if self._weights else 0
        for ack in acks:
            current = replace(ack, update_debt=debt, weights_version=version, rows=self._learner.rows)
            self._acks.publish(ack_to_message(current, self._now()))

    # training

    def _phase_is_here(self) -> bool:
        # In lockstep a phase is learned from when all of it is here: results must not depend on arrival times.
        return not (self._is_waited_for and self._learner.phase_open)

    def _on_spent(self) -> None:
        self._spent = True

    def _publish_weights(self) -> None:
        from rlt_ros.rl.weights import write_policy_file

        weights = self._learner.weights()
        self._weights_at = time.monotonic()
        if self._weights is not None and weights.version == self._weights.version:
            return
        self._weights = weights
        write_policy_file(self._policy_file, weights)
        self._weights_out.publish(weights_to_message(weights, self._now()))

    # reports and requests

    def _on_second(self) -> None:
        stats = self._learner.stats(self._inbox.duplicates, self._inbox.refused)
        self._stats_out.publish(learner_stats(stats, self._now()))
        self._metrics.write(stats, self._learner.outcomes, self._learner.alarms)
        self._tell_alarms()
        # A sender that missed a receipt, or this learner's restart, waits for the next one.
        self._publish_acks(self._acked.values())

    def _tell_alarms(self) -> None:
        raised, cleared = self._alarm_news.since(self._learner.alarms)
        for line in raised:
            self.get_logger().warning(line)
        for line in cleared:
            self.get_logger().info(line)

    def _on_save(self, request: Any, response: srv.SaveCheckpoint.Response) -> srv.SaveCheckpoint.Response:
        path = self._save()
        response.success, response.path = path is not None, str(path or "")
        response.message = "" if path else "not written; the learner's log says why"
        self._on_second()
        return response

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

    def _on_fetch(self, request: Any, response: srv.FetchWeights.Response) -> srv.FetchWeights.Response:
        response.success = self._weights is not None
        if self._weights is None:
            response.message = "nothing learned yet"
        else:
            response.weights = weights_to_message(self._weights, self._now())
        return response


def main() -> None:
    """Entry point."""
    run(LearnerNode)

"""The learner: transitions in, acknowledgements, weights, statistics and checkpoints out."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlt_ros import msg, srv
from rlt_ros.data.contract import read_contract
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import BadMessage, ack_to_message, header, transition_from_message, weights_to_message
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.rl.config import AgentConfig, Dims

SLICE = 50
"""Updates between two looks at the clock."""


class LearnerNode(ManagedNode):
    """Receipt in the callback thread, training in another: updates never delay a row or a request for weights."""

    def __init__(self) -> None:
        super().__init__("learner")
        self._checkpoint = declare(self, "checkpoint", "", "Directory of the Stage-1 checkpoint.")
        self._run_dir = Path(declare(self, "run_dir", "", "Directory for transitions, checkpoints and TensorBoard."))
        self._weights_every = declare(self, "weights_every", 1.0, "Real time: seconds between versions of the weights.")
        self._config = declare_dataclass(self, AgentConfig, passthrough=AgentConfig.passthrough)
        self._condition = threading.Condition()
        self._trainer: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._published_version = 0
        self._published_at = 0.0

    # lifecycle

    def setup(self) -> None:
        from rlt_ros.loop.inbox import Inbox
        from rlt_ros.nodes.tensorboard import Metrics
        from rlt_ros.rl.checkpoint import latest, resume
        from rlt_ros.rl.journal import Journal
        from rlt_ros.rl.learner import Learner

        if not self._run_dir.name:
            raise ValueError("parameter run_dir is empty; expected the directory of this run")
        contract = read_contract(self._checkpoint)
        dims = Dims(contract.token_dim, len(contract.proprio_names), len(contract.action_names))
        self._learner = Learner(self._config, dims, contract.fingerprint, 1e3 * contract.translation_scale)
        journal = Journal(self._run_dir / "transitions")
        found = latest(self._run_dir / "checkpoints")
        resume(self._learner, journal.rows(), found)
        self.get_logger().info(f"{self._learner.rows} rows from the journal, checkpoint {found or 'none'}")
        self._inbox = Inbox(journal, self._learner)
        self._metrics = Metrics(self._run_dir / "tensorboard")
        self._connect()

    def _connect(self) -> None:
        self._acks = self.create_publisher(msg.TransitionAck, "transition_ack", qos.STEP)
        self._weights = self.create_publisher(msg.PolicyWeights, "policy_weights", qos.LATCHED)
        self._stats = self.create_publisher(msg.LearnerStats, "learner_stats", qos.STATS)
        self.listen(msg.Transition, "transition", self._on_transition, qos.TRANSITIONS)
        self.create_service(srv.SaveCheckpoint, "save_checkpoint", self._on_save)
        self.create_service(srv.FetchWeights, "fetch_weights", self._on_fetch)
        self.every(0.02, self._on_tick)
        self.every(1.0, self._on_second)

    def start(self) -> None:
        self._trainer = threading.Thread(target=self._train, name="trainer", daemon=True)
        self._trainer.start()

    def stop(self) -> None:
        with self._condition:
            self._condition.notify()
        if self._trainer is not None:
            self._trainer.join()
        self._save()

    # receipt

    def _on_transition(self, message: msg.Transition) -> None:
        if message.contract != self._learner.contract:
            raise BadMessage(f"contract is {message.contract!r}; this learner's is {self._learner.contract!r}")
        self._inbox.receive(transition_from_message(message))

    def _on_tick(self) -> None:
        if self._failure is not None:
            self.get_logger().fatal(f"training failed: {self._failure}")
            self.finish(1)
            return
        acks = self._inbox.flush()
        for ack in acks:
            self._acks.publish(ack_to_message(ack, self._now()))
        if acks:
            with self._condition:
                self._condition.notify()

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

"""The actor: action chunks out of features, transitions out of what was executed."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from pathlib import Path

from rlt_ros import msg
from rlt_ros.data.contract import read_contract
from rlt_ros.loop.closing import PhaseCloser
from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.decisions import Decision, Decisions, DecisionsAhead
from rlt_ros.loop.outbox import Outbox
from rlt_ros.loop.policy import ChunkPolicy, NonFinite
from rlt_ros.loop.windows import WindowAssembler
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import (
    ack_from_message,
    chunk_to_message,
    event_from_message,
    features_from_message,
    header,
    mode_from_message,
    step_from_message,
    transition_to_message,
    weights_from_message,
)
from rlt_ros.nodes.diagnostics import OK, WARN, Diagnostics, Reports
from rlt_ros.nodes.link import LinkWatch
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.nodes.witness import with_lease
from rlt_ros.ranges import Count, Positive, Seconds, Seed
from rlt_ros.rl.weights import UNTRAINED, is_untrained, load_policy, read_policy_file
from rlt_ros.tensor import torch
from rlt_ros.types import PolicyMode, PolicyWeights, Transition, TransitionAck, stream_of


class ActorNode(ManagedNode):
    """Topics around `Decisions`, `ChunkPolicy`, `WindowAssembler` and `Outbox`."""

    def __init__(self) -> None:
        super().__init__("actor")
        self._checkpoint = declare(self, "checkpoint", "", "Directory of the Stage-1 checkpoint.")
        self._policy_file = declare(
            self, "policy", "", "Policy file to drive by without a learner; empty: the learner's."
        )
        self._seed = declare(self, "seed", 0, "Seed of the held noise, together with the observation's id.", Seed)
        # In lockstep a run follows from its seed and settings alone.
        live = {} if self.lockstep else {"sigma": self._on_sigma}
        self._config = declare_dataclass(self, LoopConfig, live)
        self._lead = declare(
            self, "lead", 0, "Real time: control steps from decision to chunk boundary; 0: measured.", Count
        )
        self._bound = declare(self, "outbox_bound", 100_000, "Rows kept for a learner that is away.", Positive)
        self._resend_after = declare(
            self, "resend_after", 2.0, "Seconds until an unacknowledged row is sent again.", Seconds
        )
        self._threads = declare(self, "threads", 1, "torch threads.", Positive)
        self._policy: ChunkPolicy | None = None
        self._mode: PolicyMode | None = None
        self._acknowledged: TransitionAck | None = None
        self._chunk_message: msg.ActionChunk | None = None
        self._waiting = False
        self._version = 0
        self._versions_applied = 0
        self._weights_came = 0.0
        self._gate_open = False

    def setup(self) -> None:
        torch.set_num_threads(self._threads)
        contract = read_contract(self._checkpoint)
        self._contract = contract.fingerprint
        self._policy = ChunkPolicy(contract.chunk, self._config.sigma, self._config.noise_hold, self._seed)
        ahead = None if self.lockstep else DecisionsAhead(contract.chunk, self._lead)
        self._decisions = ahead or Decisions(self._config.stride)
        self._windows = WindowAssembler(contract.chunk, self._config, 1.0 / contract.control_rate)
        self._closer = PhaseCloser(self._windows)
        stream = stream_of(self.get_namespace().strip("/"), uuid.uuid4().hex)
        self._outbox = Outbox(stream, self._bound)
        self._chunks = self.create_publisher(msg.ActionChunk, "action_chunk", with_lease(qos.COMMAND))
        self._transitions = self.create_publisher(msg.Transition, "transition", qos.TRANSITIONS)
        self._requests = self.create_publisher(msg.FeaturesRequest, "features_request", qos.STEP)
        self._stats = self.create_publisher(msg.ActorStats, "actor_stats", qos.STATS)
        self._listen_all()
        if self._policy_file:
            self._drive_by(Path(self._policy_file))
        LinkWatch(self, self._contract, expected=("features",) if self._policy_file else ("features", "learner"))
        Reports(self, tell=self._diagnose)
        self.every(1.0, self._on_second)

    def _on_sigma(self, sigma: float) -> None:
        self._config = replace(self._config, sigma=sigma)
        if self._policy is not None:
            self._policy.sigma = sigma

    def _listen_all(self) -> None:
        self.listen(msg.Features, "features", self._on_features, qos.STEP)
        self.listen_live(msg.PolicyMode, "policy_mode", self._on_mode, qos.STEP)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        self.listen(msg.EpisodeEvent, "episode_event", self._on_event, qos.EVENTS)
        if not self._policy_file:
            self.listen(msg.PolicyWeights, "policy_weights", self._on_weights, qos.LATCHED)
        self.listen(msg.TransitionAck, "transition_ack", self._on_ack, qos.STEP)

    # what comes in

    def _on_features(self, message: msg.Features) -> None:
        if message.contract != self._contract:
            raise ValueError(f"features are of contract {message.contract!r}; this actor's is {self._contract!r}")
        features = features_from_message(message)
        self._decisions.add_features(features)
        self._windows.features(features)
        self._close_phases()
        self._decide()

    def _on_mode(self, message: msg.PolicyMode) -> None:
        mode = mode_from_message(message)
        repeated = self._mode is not None and mode.observation_id == self._mode.observation_id
        self._mode = mode
        self._decisions.add_mode(mode)
        self._windows.mode(mode)
        if repeated and mode.observation_id == self._decisions.decided and self.active:
            self._chunks.publish(self._chunk_message)
        self._decide()

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        step = step_from_message(message)
        self._decisions.add_executed(step)
        self._windows.executed(step)
        self._close_phases()
        self._decide()

    def _on_event(self, message: msg.EpisodeEvent) -> None:
        self._closer.add(event_from_message(message), time.monotonic())
        self._close_phases()

    def _on_ack(self, message: msg.TransitionAck) -> None:
        ack = ack_from_message(message)
        if ack.stream != self._outbox.stream:
            return
        self._acknowledged = ack
        self._outbox.acknowledge(ack)
        self._decide()

    def _drive_by(self, path: Path) -> None:
        weights = read_policy_file(path, self._contract)
        if weights is None:
            raise ValueError(f"policy {path}: no such file; expected policy.safetensors of a run")
        if is_untrained(weights):
            self.get_logger().warning(f"policy {path} has {UNTRAINED}")
        self._apply(replace(weights, gate_open=True))

    def _on_weights(self, message: msg.PolicyWeights) -> None:
        weights = weights_from_message(message)
        if weights.version > self._version:
            self._apply(weights)
            self._decide()

    def _apply(self, weights: PolicyWeights) -> None:
        policy = load_policy(weights, self._contract)
        # Until the gate opens the VLA drives, whatever the operator asks for.
        self._policy.swap(policy if weights.gate_open else None)
        self._version, self._gate_open = weights.version, weights.gate_open
        self._versions_applied += 1
        self._weights_came = time.monotonic()

    # what goes out

    def _decide(self) -> None:
        if not self.active:
            return
        self._ask_ahead()
        decision = self._decisions.due()
        if decision is None:
            return
        self._waiting = self.lockstep and decision.starts_episode and not self._settled()
        if not self._waiting:
            self._publish_chunk(decision)

    def _ask_ahead(self) -> None:
        number = self._decisions.wanted()
        if number:
            self._request([number], urgent=True)

    def _publish_chunk(self, decision: Decision) -> None:
        rows = 0
        try:
            late = 0 if self.lockstep else self._decisions.lead
            chunk = self._policy.decide(decision.features, decision.mode, late)
        except NonFinite as error:
            # An empty chunk is refused by the executor, which then holds; in lockstep it would wait for one for ever.
            self.get_logger().error(f"no chunk: {error}", throttle_duration_sec=1.0)
            features = decision.features
            self._chunk_message = msg.ActionChunk(header=header(features.stamp), features_id=int(features.id))
        else:
            rows = len(chunk.actions)
            self._windows.chunk(chunk)
            self._chunk_message = chunk_to_message(chunk)
        finally:
            self._decisions.made(decision, rows)
        self._chunks.publish(self._chunk_message)
        if not self.lockstep:
            self._ask_ahead()

    def _settled(self) -> bool:
        # Same seed, same curve: an episode begins when the learner has spent its debt and its weights are here.
        if self._closer.busy or self._outbox.pending:
            return False
        ack = self._acknowledged
        return ack is None or (ack.update_debt == 0 and ack.weights_version <= self._version)

    def _close_phases(self) -> None:
        if not self._closer.busy:
            return
        closing = self._closer.close(self._decisions.executed_id, time.monotonic())
        if closing.wanted:
            self._request(closing.wanted, urgent=False)
        if closing.rows:
            self._send(self._outbox.put(closing.rows))
        if not self._closer.busy:
            self._report()

    def _request(self, ids: list[int], urgent: bool) -> None:
        self._requests.publish(msg.FeaturesRequest(ids=[int(n) for n in ids], urgent=urgent))

    def _send(self, rows: list[Transition]) -> None:
        for row in rows:
            self._transitions.publish(transition_to_message(row, self._contract))

    def _on_second(self) -> None:
        self._closer.ask_again()
        self._close_phases()
        if self.lockstep:
            self._decisions.ask_again()
            self._decide()
        self._send(self._outbox.unacknowledged(time.monotonic(), self._resend_after))
        self._report()

    def _diagnose(self, say: Diagnostics) -> None:
        if not self.lockstep:
            lead, latency = self._decisions.lead, self._decisions.latency
            text = f"decided {lead} control steps before the running chunk ends"
            say.set("decisions", OK, text, lead=lead, latency="unknown" if latency is None else latency)
        box, windows = self._outbox, self._windows
        full = f"{box.pending} rows wait for the learner, no more fit: no critical phase begins" if box.full else ""
        counts = {"published": box.published, "acknowledged": box.acknowledged, "resent": box.resent}
        say.say("rows", full, "ok", WARN, waiting=box.pending, dropped=windows.dropped, **counts)
        age = time.monotonic() - self._weights_came if self._versions_applied else None
        gate = "open" if self._gate_open else "closed: the VLA drives"
        shown = "none yet" if age is None else f"{age:.1f} s"
        say.set("weights", OK, f"gate {gate}", version=self._version, age=shown)

    def _report(self) -> None:
        outbox, now = self._outbox, time.monotonic()
        self._stats.publish(
            msg.ActorStats(
                header=header(self.get_clock().now().nanoseconds),
                stream=outbox.stream,
                transitions_published=int(outbox.published),
                transitions_acknowledged=int(outbox.acknowledged),
                resent=int(outbox.resent),
                rows_dropped=int(self._windows.dropped),
                weights_applied=int(self._versions_applied),
                weights_version=int(self._version),
                weights_age=float(now - self._weights_came) if self._versions_applied else 0.0,
                gate_open=bool(self._gate_open),
                driver=int(self._chunk_message.driver) if self._chunk_message else 0,
                waiting_for_learner=bool(self._waiting),
            )
        )


def main() -> None:
    """Entry point."""
    run(ActorNode)

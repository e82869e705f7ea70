"""The end of a session: last checkpoint, final figures, `summary.json`, exit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlt_ros import srv
from rlt_ros.loop.report import summary_text, write_json
from rlt_ros.nodes.parameters import declare

if TYPE_CHECKING:
    from rlt_ros.nodes.teleop import TeleopNode

FIGURES_WITHIN = 15.0


class Finale:
    """Begun once, when the session is over; ends the node with exit code 0."""

    def __init__(self, node: TeleopNode) -> None:
        self._node = node
        self._run_dir = Path(declare(node, "run_dir", "", "Directory for summary.json; empty: none is written."))
        self._save = node.create_client(srv.SaveCheckpoint, "save_checkpoint")
        self._started = time.monotonic()
        self._begun: float | None = None
        self._saved = False

    def begin(self) -> None:
        """Ask the learner for a checkpoint, then wait until the figures agree."""
        if self._begun is not None:
            return
        self._begun = time.monotonic()
        if self._save.service_is_ready():
            self._save.call_async(srv.SaveCheckpoint.Request()).add_done_callback(self._on_saved)
        else:
            self._node.get_logger().error("save_checkpoint: the learner does not answer; its last checkpoint stands")
            self._saved = True
        self._node.every(0.2, self._on_check)

    def _on_saved(self, future: Any) -> None:
        response = future.result()
        self._saved = True
        if not response.success:
            self._node.get_logger().error(f"save_checkpoint: {response.message}")

    def _on_check(self) -> None:
        late = time.monotonic() - self._begun > FIGURES_WITHIN
        if self._node.exit_code is None and (late or (self._saved and self._figures_agree())):
            self._conclude()

    def _figures_agree(self) -> bool:
        actor, learner = self._node.actor, self._node.learner
        if actor is None or learner is None:
            return False
        return actor.transitions_published == learner.rows_received and learner.update_debt == 0

    def _conclude(self) -> None:
        summary = self._summary()
        if self._run_dir.name:
            write_json(self._run_dir / "summary.json", summary)
        print(summary_text(summary, self._run_dir), flush=True)
        self._node.finish(0)

    def _summary(self) -> dict[str, Any]:
        node, actor, learner = self._node, self._node.actor, self._node.learner
        session = node.conductor.session
        return {
            "seed": session.config.seed,
            **session.results(),
            "practice": session.practice,
            "gate_open": bool(learner.gate_open) if learner else False,
            "robot_time_s": node.conductor.robot_steps / node.control_rate,
            "wall_time_s": time.monotonic() - self._started,
            "transitions": {
                "published": int(actor.transitions_published) if actor else 0,
                "received": int(learner.rows_received) if learner else 0,
            },
            "updates": {
                "critic": int(learner.critic_updates) if learner else 0,
                "actor": int(learner.actor_updates) if learner else 0,
            },
            "weights": {
                "published": int(learner.weights_version) if learner else 0,
                "applied": int(actor.weights_applied) if actor else 0,
            },
        }

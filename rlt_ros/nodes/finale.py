"""The end of a session: last checkpoint, final figures, `summary.json`, exit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlt_ros import srv
from rlt_ros.loop.report import summary_text, write_json
from rlt_ros.nodes.link import HOST
from rlt_ros.nodes.parameters import declare

if TYPE_CHECKING:
    from rlt_ros.nodes.teleop import TeleopNode

FIGURES_WITHIN = 15.0


class Finale:
    """Begun once, when the session is over; ends the node with exit code 0.

    The learner takes the last rows first and makes the updates that are due by then, which is all of them where it has
    no other robot, then writes the last checkpoint. After `FIGURES_WITHIN` seconds in which nothing of this has moved
    the run ends with what there is.
    """

    def __init__(self, node: TeleopNode) -> None:
        self._node = node
        self.run_dir = Path(declare(node, "run_dir", "", "Directory for summary.json; empty: none is written."))
        self._save = node.create_client(srv.SaveCheckpoint, "save_checkpoint")
        self._started = time.monotonic()
        self._moved: float | None = None
        self._figures: tuple[int, int] | None = None
        self._target: int | None = None
        self._saving = self._saved = self._concluded = False
        self._learner_files = ""

    def begin(self) -> None:
        """Wait until the figures agree, ask the learner for a checkpoint, conclude."""
        if self._moved is None:
            self._moved = time.monotonic()
            self._node.every(0.2, self._on_check)

    def interrupted(self) -> None:
        """Write what there is: the node ends before the session does."""
        if self._concluded or not self.run_dir.name:
            return
        try:
            write_json(self.run_dir / "summary.json", self._summary() | {"interrupted": True})
        except OSError as error:
            print(f"{self.run_dir / 'summary.json'} is not written: {error}", flush=True)

    def _on_check(self) -> None:
        if self._node.exit_code is not None:
            return
        figures, now = self._newest_figures(), time.monotonic()
        if figures != self._figures:
            self._figures, self._moved = figures, now
        late = now - self._moved > FIGURES_WITHIN
        if not self._saving and (late or self._figures_agree()):
            self._ask_for_checkpoint()
        elif self._saved or late:
            self._conclude()

    def _ask_for_checkpoint(self) -> None:
        self._saving, self._moved = True, time.monotonic()
        if self._save.service_is_ready():
            stream = self._node.actor.stream if self._node.actor else ""
            request = srv.SaveCheckpoint.Request(stream=stream, session_over=True)
            self._save.call_async(request).add_done_callback(self._on_saved)
        else:
            self._node.get_logger().error("save_checkpoint: the learner does not answer; its last checkpoint stands")
            self._saved = True

    def _on_saved(self, future: Any) -> None:
        response = future.result()
        self._saved = True
        if not response.success:
            self._node.get_logger().error(f"save_checkpoint: {response.message}")
        elif not (response.host == HOST and Path(response.path).is_relative_to(self.run_dir)):
            self._learner_files = f"{response.host}:{Path(response.path).parent.parent}"

    def _newest_figures(self) -> tuple[int, int] | None:
        learner = self._node.learner
        if learner is None:
            return None
        updates = int(learner.critic_updates)
        return self._rows_there(), updates if self._target is None else min(updates, self._target)

    def _rows_there(self) -> int:
        """Rows of this robot's newest stream that the learner has on disk."""
        actor, learner = self._node.actor, self._node.learner
        if actor is None or learner is None:
            return 0
        return int(dict(zip(learner.streams, learner.stream_rows, strict=True)).get(actor.stream, 0))

    def _figures_agree(self) -> bool:
        actor, learner = self._node.actor, self._node.learner
        if actor is None or learner is None or actor.transitions_published != self._rows_there():
            return False
        if self._target is None:
            self._target = int(learner.critic_updates) + int(learner.update_debt)
        return learner.update_debt == 0 or learner.critic_updates >= self._target

    def _conclude(self) -> None:
        self._concluded = True
        summary = self._summary()
        if self.run_dir.name:
            write_json(self.run_dir / "summary.json", summary)
        print(summary_text(summary, self.run_dir), flush=True)
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
                "received": self._rows_there(),
            },
            "updates": {
                "critic": int(learner.critic_updates) if learner else 0,
                "actor": int(learner.actor_updates) if learner else 0,
            },
            "weights": {
                "published": int(learner.weights_version) if learner else 0,
                "applied": int(actor.weights_applied) if actor else 0,
            },
            **({"learner_files": self._learner_files} if self._learner_files else {}),
        }

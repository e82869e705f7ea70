"""The policy switch of a deployment: evaluation episodes of what has been learned, and a table of results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.report import success_interval, summary_text, write_json
from rlt_ros.loop.session import Session, SessionConfig, chosen_evaluations
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.runtime import run
from rlt_ros.nodes.teleop import TeleopNode
from rlt_ros.operator.board import StatusBoard


class Table:
    """In the place of `Finale`: there is no learner to wait for."""

    def __init__(self, node: DeployTeleopNode) -> None:
        self._node, self._started, self._told = node, time.monotonic(), False
        self.run_dir = Path(declare(node, "run_dir", "", "Directory for summary.json; empty: none is written."))
        self._policy = declare(node, "policy", "", "Policy file that the actor drives by, for summary.json.")
        success_interval(0, 1)  # loads what the table needs while there is time: launch waits for seconds only

    def begin(self) -> None:
        """Tell the results; the node ends with exit code 0."""
        self.tell(interrupted=False)
        self._node.finish(0)

    def tell(self, interrupted: bool) -> None:
        """Write and print what was found, once."""
        if self._told:
            return
        self._told = True
        summary = self._summary() | ({"interrupted": True} if interrupted else {})
        if self.run_dir.name:
            write_json(self.run_dir / "summary.json", summary)
        print(summary_text(summary, self.run_dir if self.run_dir.name else None), flush=True)

    def _summary(self) -> dict[str, Any]:
        node = self._node
        session, actor = node.conductor.session, node.actor
        return {
            "seed": session.config.seed,
            **session.results(),
            "policy": self._policy,
            "weights_version": int(actor.weights_version) if actor else 0,
            "robot_time_s": node.conductor.robot_steps / node.control_rate,
            "wall_time_s": time.monotonic() - self._started,
        }


class DeployTeleopNode(TeleopNode):
    """Nothing is practised and nothing is learned; help by a person makes an episode invalid, and it is repeated."""

    def make_conductor(self) -> Conductor:
        fixed = {"practice_minutes": 0.0, "max_episodes": 0, "warmup_episodes": 0}
        config = declare_dataclass(self, SessionConfig, control_rate=self.control_rate, **fixed)
        if config.eval_episodes < 1:
            raise ValueError(f"eval_episodes is {config.eval_episodes}; expected 1 or more")
        help_text = "What is evaluated, one after the other: base, base_with_noise, final, final_with_noise."
        names = declare(self, "evaluations", ("final",), help_text)
        self.listen_to_statistics()
        self._finale = Table(self)
        self.run_dir = self._finale.run_dir
        session = Session(config, _open, chosen_evaluations(names))
        return Conductor(PhaseMachine(_open), session)

    def make_board(self) -> StatusBoard:
        return StatusBoard(self.conductor, self.control_rate, _open, learns=False)

    def interrupted(self) -> None:
        self._finale.tell(interrupted=True)
        super().close()


def _open() -> tuple[bool, str]:
    # The actor has loaded its policy before it decides anything, or has ended with the reason.
    return True, ""


def main() -> None:
    """Entry point."""
    run(DeployTeleopNode)

"""A real run of a few seconds in the tiny world of the loop's tests, with all that a run leaves behind."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from point_world import PointOperator, parts

from rlt_ros.loop.practice import Practice, Wishes
from rlt_ros.loop.record import Record
from rlt_ros.loop.report import write_json
from rlt_ros.loop.session import SessionConfig
from rlt_ros.loop.settings import Settings
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.weights import load_policy

AGENT = AgentConfig(
    hidden=16, batch=8, critics=2, utd=1, warmup_episodes=1, warmup_rows=16, bc_pretrain_updates=40, actor_after=5,
    gate_rows=20, gate_updates=5, gate_outcomes="none", gate_reference_error=9.0, replay_capacity=512,
)  # fmt: skip


class Helper(PointOperator):
    """Helps in about half of the phases."""

    def __init__(self) -> None:
        super().__init__()
        self._rng = np.random.default_rng(0)

    def decide(self, truth: Any, phase: Any, steps_in_phase: int, mode: Any, may_help: bool = True) -> list:
        asked = super().decide(truth, phase, steps_in_phase, mode, may_help)
        if any(request.value == "begin" for request in asked):
            self.helps = self._rng.random() < 0.5
        return asked if may_help else [request for request in asked if request.value != "mode_human"]


def run_into(run_dir: Path, seed: int = 1, **agent: Any) -> dict[str, Any]:
    """Practise half a minute and evaluate; returns the summary, which lies in the run directory like all else."""
    config = dataclasses.replace(AGENT, **agent)
    session = SessionConfig(
        practice_minutes=0.4, control_rate=20.0, eval_episodes=2, warmup_episodes=1, time_limit=40, seed=seed
    )
    learner = Learner(config, Dims(z=3), "point", 5.0)
    world = dataclasses.replace(parts(Helper()), learner=learner, load=lambda weights: load_policy(weights, "point"))
    settings = Settings(agent=config, session=session)
    record = Record(run_dir, learner)
    write_json(run_dir / "settings.json", {"task": "point", **settings.as_dict()})
    summary = Practice(world, settings, Wishes(moments=(0.2,), dither=(0.1,)), record).run()
    write_json(run_dir / "summary.json", summary)
    return summary

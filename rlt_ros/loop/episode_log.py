"""What became of each episode, a line of JSON each, in the run directory."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.types import EpisodeEvent

FILE = "episodes.jsonl"


@dataclass(frozen=True)
class EpisodeResult:
    """An episode that has ended with a label.

    stage, policy, explore, evaluation: of its plan. stamp: of the observation that follows its last step [ns]. label: a
    name of `Label`. steps: executed in the critical phase, robot_steps in the whole episode. drivers: of the steps of
    the critical phase, how many each drove, by name of `Driver`. intervened: a person drove in the episode. counted:
    it is in the session's figures.
    """

    stage: str
    episode: int
    phase_id: int
    stamp: int
    label: str
    policy: str
    explore: bool
    evaluation: bool
    steps: int
    robot_steps: int
    drivers: Mapping[str, int]
    intervened: bool
    counted: bool

    @staticmethod
    def of(
        event: EpisodeEvent,
        plan: EpisodePlan,
        steps: int,
        robot_steps: int,
        drivers: Mapping[str, int],
        intervened: bool,
        counted: bool,
    ) -> EpisodeResult:
        """The result of the episode that an event ends."""
        return EpisodeResult(
            plan.stage,
            event.episode,
            event.phase_id,
            event.stamp,
            event.label.name,
            plan.policy.name,
            plan.explore,
            plan.evaluation,
            steps,
            robot_steps,
            drivers,
            intervened,
            counted,
        )


def append(run_dir: Path, result: EpisodeResult, **more: Any) -> None:
    """Add a line, with the wall time and whatever more is known. Raises OSError."""
    line = json.dumps({"time": time.time(), **asdict(result), **more})
    with (run_dir / FILE).open("a") as file:
        file.write(line + "\n")

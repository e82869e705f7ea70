"""SIGKILL of each node in the middle of an episode: what the arm does, who comes back, what was recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from fault_cells import Matrix
from fault_session import Session
from fault_watch import DRIVEN, Measured

from rlt_ros.msg import ExecutedStep
from rlt_ros.srv import LabelEpisode
from rlt_ros.types import Transition

RETURNING = ("observation", "features", "actor", "executor", "teleop")
KEEPS_DRIVING = ("learner",)
"""Nodes without which the arm goes on."""


@dataclass(kw_only=True)
class Killed(Measured):
    """Of a SIGKILL; start: newest robot time when it was sent. returned: s until the process was there again.
    has_rows: the phase was long enough for rows. rows: recorded of it.
    """

    node: str
    returned: float | None = None
    has_rows: bool = False
    rows: int = 0

    def row(self) -> dict[str, Any]:
        """For the table."""
        return asdict(self)


def kill(session: Session, name: str, seconds: float = 120.0) -> Killed:
    """Kill a node while somebody drives in a critical phase, and wait until somebody drives again."""
    watch, outcome = session.running(), Killed(node=name, run=str(session.runs[-1]))
    operator = Matrix(watch)
    try:
        outcome.has_rows = operator.wait_for_phase(name)
        outcome.phase_id = watch.word.phase_id
        process = session.graph.node(name)
        outcome.start = watch.now
        process.kill()
        if name in KEEPS_DRIVING:
            operator.label(LabelEpisode.Request.FAILURE)  # the rows find nobody
        came_back = lambda: (p := session.graph.node(name)) is not None and p.pid != process.pid  # noqa: E731
        watch.wait(came_back, seconds, f"a new {name}")
        outcome.returned = watch.now - outcome.start
        waited = outcome.start + (1.0 if name in KEEPS_DRIVING else 0.5)
        watch.wait(lambda: watch.driving(waited, 3, phase=False), seconds, f"driven steps after {name}")
        operator.label(LabelEpisode.Request.FAILURE)
    except AssertionError as error:
        outcome.problem = str(error).splitlines()[0]
    driven = [s.at for s in watch.steps if s.at > outcome.start + 0.5 and s.driver in DRIVEN]
    outcome.end = min(driven, default=watch.now)
    outcome.recovered = outcome.end - outcome.start if driven else None
    # A reset before it is no answer to the kill.
    held = [s.at for s in watch.steps if outcome.start < s.at < outcome.end and s.driver == ExecutedStep.HOLD]
    outcome.end = max(held, default=outcome.end)
    outcome.judge(session.watch, outcome.end)
    return outcome


def repeated(rows: list[Transition]) -> list[str]:
    """Windows that were recorded twice, under whatever id."""
    count = Counter((row.episode, row.phase_id, row.features_id) for row in rows)
    return [f"window at observation {number} of phase {phase}" for (_, phase, number), n in count.items() if n > 1]

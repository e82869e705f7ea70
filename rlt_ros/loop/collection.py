"""A session that only records demonstrations: which start states, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import Progress
from rlt_ros.ranges import Seed
from rlt_ros.types import Label, Mode

COLLECTION = "collection"
_HALF = 2**30


@dataclass(frozen=True)
class CollectionConfig:
    """How demonstrations follow each other."""

    seed: Seed = 0  # of the start states
    reset: bool = True  # the robot is reset after a label; without, the person puts arm and scene in order by hand


@dataclass(frozen=True)
class CollectorStatus:
    """What the collector says of itself.

    saved, discarded, refused: demonstrations since its start; wanted: saved ones after which it ends, 0 for no end.
    settled: newest phase_id that it has dealt with; verdict: what became of it. failure: why nothing can be recorded,
    empty if it can. backlog: bytes that wait to be written.
    """

    saved: int = 0
    discarded: int = 0
    refused: int = 0
    wanted: int = 0
    settled: int = 0
    verdict: str = ""
    failure: str = ""
    backlog: int = 0


class CollectionSession:
    """Plans without end, for the collector knows when there are enough: a person drives from the start on.

    The start states are drawn from the half of the range that `loop.session` does not evaluate on.
    """

    def __init__(self, config: CollectionConfig) -> None:
        self.config = config
        self._seeds = np.random.default_rng([config.seed, 2])
        self._plan: EpisodePlan | None = None
        self._labels: list[Label] = []

    def next_episode(self) -> EpisodePlan:
        """Plan of the next episode; the same one until `ended` is told."""
        if self._plan is None:
            self._plan = EpisodePlan(
                policy=Mode.HUMAN,
                approach=Mode.HUMAN,
                explore=False,
                record=False,
                reset_seed=int(self._seeds.integers(_HALF)),
                stage=COLLECTION,
                reset=self.config.reset,
            )
        return self._plan

    def ended(self, label: Label, steps: int, robot_steps: int, intervened: bool = False) -> bool:
        """The episode planned last was labelled; all count."""
        self._plan = None
        self._labels.append(label)
        return True

    @property
    def progress(self) -> Progress:
        """Labelled episodes so far, and the share of successes among the last 20."""
        last = self._labels[-20:]
        recent = last.count(Label.SUCCESS) / len(last) if last else None
        return Progress(COLLECTION, len(self._labels), recent, 0, 0)


@dataclass
class RecordingGate:
    """Objects to requests that cannot be granted while demonstrations are recorded."""

    status: CollectorStatus | None = None

    def objection(self, request: Request) -> str:
        """Why a request is refused, empty if it is not."""
        if request in (Request.MODE_VLA, Request.MODE_RL):
            return f"{request.value}: no policy runs while demonstrations are recorded; ask for mode_human"
        if request is not Request.BEGIN:
            return ""
        if self.status is None:
            return "begin: no word from the collector yet"
        return f"begin: nothing can be recorded: {self.status.failure}" if self.status.failure else ""

    def settled(self, phase_id: int) -> bool:
        """Whether the collector has dealt with every phase up to this one, and can take another."""
        status = self.status
        return status is not None and not status.failure and status.settled >= phase_id


def closed() -> tuple[bool, str]:
    """The gate of a learned actor that is not there."""
    return False, "no policy runs while demonstrations are recorded"


def status_line(status: CollectorStatus | None, phase: str, mode: str) -> str:
    """One line for the terminal: phase, who drives, what was saved."""
    if status is None:
        return "waiting for the collector"
    wanted = f" of {status.wanted}" if status.wanted else ""
    parts = [f"saved {status.saved}{wanted}", f"discarded {status.discarded}", f"refused {status.refused}"]
    parts += [f"phase {phase.lower()}", f"mode {mode.lower()}"]
    if status.verdict:
        parts.append(f"last: {status.verdict}")
    if status.failure:
        parts.append(f"NOT RECORDING: {status.failure}")
    return " | ".join(parts)

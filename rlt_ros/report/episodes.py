"""The episodes of a run: from its log, or, in directories without one, from the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.loop.episode_log import FILE
from rlt_ros.loop.session import PRACTICE
from rlt_ros.report.lines import Say, number, read_lines
from rlt_ros.rl.codec import Refused
from rlt_ros.rl.journal import JournalError, read_journal
from rlt_ros.types import Driver, Label, Transition

PAUSE = 120.0
"""s between two phases in stored rows beyond which the time between them is taken for a pause."""


@dataclass(frozen=True)
class Episode:
    """What became of an episode. minutes: robot time of the practice up to its end. time: wall time of its end, NaN if
    unknown. steps: of the critical phase. drivers: of these steps, by name of `Driver`. pictures: the log's entry.
    """

    stage: str
    label: str
    steps: int
    minutes: float
    time: float = float("nan")
    drivers: Mapping[str, int] = field(default_factory=dict)
    counted: bool = True
    pictures: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0

    @property
    def success(self) -> bool:
        """It was labelled a success."""
        return self.label == Label.SUCCESS.name

    @property
    def human_share(self) -> float:
        """Share of its steps that a person drove; NaN without any."""
        total = sum(self.drivers.values())
        return self.drivers.get(Driver.HUMAN.name, 0) / total if total else float("nan")


def read_episodes(run_dir: Path, control_rate: float, say: Say) -> list[Episode]:
    """All that are known, in their order. control_rate: Hz."""
    if (run_dir / FILE).is_file():
        return _logged(read_lines(run_dir / FILE, say), control_rate)
    found = _stored(run_dir / "transitions", control_rate, say)
    if found:
        say(f"{FILE}: not there; practice is told from the stored rows, evaluations from the summary only")
    return found


def practised(episodes: Iterable[Episode]) -> list[Episode]:
    """Labelled episodes of practice."""
    outcomes = (Label.SUCCESS.name, Label.FAILURE.name)
    return [e for e in episodes if e.stage == PRACTICE and e.counted and e.label in outcomes]


def _logged(lines: Iterable[Mapping[str, Any]], control_rate: float) -> list[Episode]:
    found, robot_steps = [], 0.0
    for line in lines:
        stage = str(line.get("stage", ""))
        if stage == PRACTICE:
            robot_steps += number(line, "robot_steps", 0.0)
        drivers = line.get("drivers")
        pictures = line.get("pictures")
        found.append(
            Episode(
                stage,
                str(line.get("label", "")),
                int(number(line, "steps", 0.0)),
                robot_steps / control_rate / 60.0,
                number(line, "time"),
                drivers if isinstance(drivers, dict) else {},
                bool(line.get("counted", True)),
                pictures if isinstance(pictures, dict) else {},
                int(number(line, "phase_id", 0.0)),
            )
        )
    return found


def _stored(journal: Path, control_rate: float, say: Say) -> list[Episode]:
    found: list[Episode] = []
    phase: list[Transition] = []
    clock = _Clock(control_rate)
    try:
        for packed in read_journal(journal):
            row = packed.entry()
            if isinstance(row, Refused):
                continue
            if phase and (row.stream, row.phase_id) != (phase[0].stream, phase[0].phase_id):
                found.append(_of_rows(phase, clock))
                phase = []
            phase.append(row)
    except (JournalError, OSError, ValueError, KeyError) as error:
        say(f"transitions: {str(error).replace(str(journal), journal.name)}")
    if phase and phase[-1].last_of_phase:
        found.append(_of_rows(phase, clock))
    return found


class _Clock:
    """Robot time out of stamps, which jump where a run was resumed or paused."""

    def __init__(self, control_rate: float) -> None:
        self._rate, self._last, self.minutes = control_rate, None, 0.0

    def phase(self, end: int, steps: int) -> float:
        """Minutes at the end of a phase. end: its stamp [ns]."""
        gap = steps / self._rate if self._last is None else (end - self._last) / 1e9
        self._last = end
        self.minutes += (gap if 0.0 < gap < PAUSE else steps / self._rate) / 60.0
        return self.minutes


def _of_rows(rows: list[Transition], clock: _Clock) -> Episode:
    first, drivers = rows[0], np.zeros(first_steps(rows), np.uint8)
    for row in rows:
        start = row.step - first.step
        drivers[start : start + row.valid_horizon] = row.drivers[: row.valid_horizon]
    counts = {driver.name: int((drivers == driver).sum()) for driver in Driver if (drivers == driver).any()}
    stamps = [features.stamp for row in rows for features in row.features]
    minutes = clock.phase(max(stamps, default=0), first.steps_to_end)
    label = Label(rows[-1].label).name
    return Episode(PRACTICE, label, first.steps_to_end, minutes, drivers=counts, number=first.phase_id)


def first_steps(rows: list[Transition]) -> int:
    """Steps from the first row of a phase to the end of its last one."""
    return max(row.step - rows[0].step + row.valid_horizon for row in rows)

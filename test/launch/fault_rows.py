"""Whether what was recorded around a fault may be learned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from fault_cells import EDGE, Outcome
from fault_watch import LIMIT

from rlt_ros.types import Transition


def check(rows: Iterable[Transition], times: Mapping[int, float], outcome: Outcome) -> tuple[dict[str, int], list[str]]:
    """Rows of the phase of a fault, counted by where they lie, and what is wrong with them.

    times: robot time of observations by id. Steps upon observations from the fault's detection to its end are doubtful.
    """
    counts = {"before": 0, "after": 0, "doubtful": 0, "across": 0, "over a jump": 0}
    start, end = outcome.start + LIMIT + outcome.late, outcome.end - EDGE
    jumps = (outcome.start, outcome.end) if outcome.cell.jumps else ()
    problems = []
    for row in rows:
        if not finite(row):
            problems.append(f"row {row.id} is not finite")
        if row.phase_id != outcome.phase_id:
            continue
        upon = [times.get(row.features_id + i, float("nan")) for i in range(row.valid_horizon)]
        if any(upon[0] < moment - EDGE and upon[-1] > moment + EDGE for moment in jumps):
            place = "over a jump"
        elif any(start < t < end for t in upon):
            place = "doubtful"
        elif upon[0] <= start and upon[-1] >= end:
            place = "across"
        else:
            place = "before" if upon[-1] <= start else "after"
        counts[place] += 1
    wrong = ("doubtful", "across") if outcome.cell.holds else ("over a jump",)
    problems += [f"{counts[place]} rows {place} the fault" for place in wrong if counts[place]]
    return counts, problems


def finite(row: Transition) -> bool:
    """Whether everything in a row is a number."""
    parts = [row.actions, row.rewards, *(v for f in row.features for v in (f.z, f.proprio, f.reference))]
    return all(np.isfinite(part).all() for part in parts)


def contiguous(rows: Iterable[Transition]) -> list[str]:
    """What is wrong with the ids of each stream: rows lost or doubled."""
    streams: dict[str, list[int]] = {}
    for row in rows:
        streams.setdefault(row.stream, []).append(row.id)
    return [
        f"stream {name}: {len(ids)} rows, ids {ids[0]} to {ids[-1]}"
        for name, ids in streams.items()
        if ids != list(range(1, len(ids) + 1))
    ]

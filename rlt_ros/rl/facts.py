"""What a row says of itself beyond what an update reads: with it the replay can be saved, and read again as rows."""

from __future__ import annotations

import numpy as np

from rlt_ros.types import Transition


class Facts:
    """Columns (N, ...) named as the fields of `types.Transition`, by place in the ring."""

    def __init__(self, capacity: int, chunk: int) -> None:
        n = capacity
        self.columns = {
            "episode": np.zeros(n, np.int64),
            "phase_id": np.zeros(n, np.int64),
            "step": np.zeros(n, np.int64),
            "drivers": np.zeros((n, chunk), np.uint8),
            "truncated": np.zeros(n, np.bool_),
            "label": np.zeros(n, np.uint8),
            "steps_to_end": np.zeros(n, np.int64),
            "weights_version": np.zeros(n, np.int64),
            "last_of_phase": np.zeros(n, np.bool_),
        }

    def write(self, place: int, row: Transition) -> None:
        """Note a row at its place."""
        for name, column in self.columns.items():
            column[place] = getattr(row, name)

"""Rows of a long stream, evenly thinned: exact until there are many, and never more than that in memory."""

from __future__ import annotations

import numpy as np

ROWS = 200_000


class Sample:
    """Keeps every n-th row; n doubles whenever there are more than `ROWS`."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._every, self._seen = 1, 0

    def add(self, rows: np.ndarray) -> None:
        """Take in rows (T, n)."""
        offset = -self._seen % self._every
        self._parts.append(rows[offset :: self._every].copy())
        self._seen += len(rows)
        while sum(map(len, self._parts)) > ROWS:
            self._parts = [np.concatenate(self._parts)[::2].copy()]
            self._every *= 2

    @property
    def rows(self) -> np.ndarray:
        """What was kept, (N, n); (0, 0) if nothing was."""
        return np.concatenate(self._parts) if self._parts else np.zeros((0, 0))

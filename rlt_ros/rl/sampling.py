"""Which rows a batch is made of: uniform over the newest ones, with a share of its own for those with a human step.

Rows are named by their number in the run, counted from 0; the replay's slot of row n is n modulo its capacity.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from rlt_ros.rl.config import AgentConfig
from rlt_ros.tensor import torch


class HumanRows:
    """Numbers of the stored rows that hold a human step, oldest first, in a ring. Not thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._numbers = np.zeros(capacity, np.int64)
        self._first = self._end = 0

    def add(self, number: int) -> None:
        """Note a row, newer than all before."""
        self._numbers[self._end % len(self._numbers)] = number
        self._end += 1

    def drop_before(self, oldest: int) -> None:
        """Forget the rows older than the oldest one that is stored."""
        while self._first < self._end and self._at(self._first) < oldest:
            self._first += 1

    def since(self, oldest: int) -> range:
        """Places of the rows from a number on; found in logarithmic time."""
        return range(bisect_left(range(self._end), oldest, self._first, key=self._at), self._end)

    def numbers(self, places: np.ndarray) -> np.ndarray:
        """Row numbers, int64, at places that `since` named."""
        return self._numbers[places % len(self._numbers)]

    def _at(self, place: int) -> int:
        return int(self._numbers[place % len(self._numbers)])


class Sampler:
    """Draws row slots with replacement. Not thread-safe: the replay's lock is held around it.

    The window comes first, the share second: with both, `human_share` of a batch is drawn from the rows with a human
    step among the newest `sample_window` rows, the rest from all of these, which may hit such a row as well. Without
    one in the window all is drawn uniformly, and `human_share` says 0.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._human = HumanRows(config.replay_capacity)
        self._added = 0

    @property
    def stored(self) -> int:
        """Rows that are stored."""
        return min(self._added, self._config.replay_capacity)

    @property
    def window(self) -> int:
        """Rows that are drawn from, the newest ones."""
        return min(self.stored, self._config.sample_window or self.stored)

    @property
    def human_rows(self) -> int:
        """Rows of the window that hold a human step."""
        return len(self._human.since(self._added - self.window))

    def human_share(self, batch: int) -> float:
        """Share of a batch that is drawn from rows with a human step."""
        return self._asked(batch, self.human_rows) / batch

    def add(self, human: bool) -> None:
        """Count a new row, which takes the place of the oldest one where the replay is full."""
        self._added += 1
        self._human.drop_before(self._added - self.stored)
        if human:
            self._human.add(self._added - 1)

    def restore(self, added: int, numbers: np.ndarray, human: np.ndarray) -> None:
        """Go on from stored rows: int64 (N,) and bool (N,), in any order. added: rows since the run began."""
        for number in np.sort(numbers[human]).tolist():
            self._human.add(number)
        self._added = added

    def draw(self, batch: int, generator: torch.Generator) -> torch.Tensor:
        """Slots, int64 (batch,), those of the human share last."""
        oldest = self._added - self.window
        human = self._human.since(oldest)
        asked = self._asked(batch, len(human))
        slots = torch.randint(self.window, (batch - asked,), generator=generator)
        if self.window < self.stored:
            slots = (slots + oldest) % self._config.replay_capacity
        if asked == 0:
            return slots
        places = torch.randint(human.start, human.stop, (asked,), generator=generator)
        numbers = torch.from_numpy(self._human.numbers(places.numpy()))
        return torch.cat([slots, numbers % self._config.replay_capacity])

    def _asked(self, batch: int, human_rows: int) -> int:
        return round(self._config.human_share * batch) if human_rows else 0

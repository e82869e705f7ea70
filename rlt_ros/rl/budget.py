"""Updates are earned by data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Budget:
    """Critic updates that may still be spent. utd: earned per new row. cap: largest debt; more is forgone and counted,
    or an outage would end in thousands of updates on the same rows (`method.md` C.2).
    """

    utd: int
    cap: int
    debt: int = 0
    forgone: int = 0

    def earn(self, rows: int) -> None:
        """New rows have come."""
        wanted = self.debt + rows * self.utd
        self.debt = min(wanted, self.cap)
        self.forgone += wanted - self.debt

    def assign(self, updates: int) -> None:
        """So many updates and no others: offline, where all the rows are there."""
        self.debt = updates

    def spend(self) -> bool:
        """Take one update; False when nothing is left."""
        if self.debt == 0:
            return False
        self.debt -= 1
        return True

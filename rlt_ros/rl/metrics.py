"""Scalars of a run for TensorBoard."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

from rlt_ros.rl.stats import LearnerStats


class Metrics:
    """Writes every numeric field of `LearnerStats` as `learner/<field>` over critic updates, `rows/...` over rows.

    Raises ImportError, naming the pip extra, where tensorboard is missing.
    """

    def __init__(self, directory: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError(f"tensorboard is missing: pip install 'rlt_ros[learn]' ({error})") from error
        self._writer = SummaryWriter(str(directory))
        self._last = -1

    def write(self, stats: LearnerStats) -> None:
        """One point per scalar; nothing if neither rows nor updates have come since the last one."""
        step = stats.critic_updates
        if stats.rows_received + step == self._last:
            return
        self._last = stats.rows_received + step
        for name, value in asdict(stats).items():
            if isinstance(value, (int, float)) and math.isfinite(value):
                self._writer.add_scalar(f"learner/{name}", float(value), step)
        self._writer.add_scalar("rows/critic_updates", float(step), stats.rows_received)

    def close(self) -> None:
        """Flush and close the event file."""
        self._writer.close()

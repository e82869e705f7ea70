"""Before its first minute in charge the actor equals the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.gate import Progress

MORE_ROWS = 1.25
"""Growth of the data that makes another round of pre-training worth trying."""


@dataclass
class WarmStartState:
    """updates: pre-training updates made. left: of the round under way. rows: when that round began, else 0."""

    updates: int = 0
    left: int = 0
    rows: int = 0


class WarmStart:
    """Counts the warm-up and the rounds of pre-training on BC alone.

    The first round starts when the warm-up is over and comes before any critic update. If the actor is then still too
    far from the reference, another round waits for a quarter more rows: no data, no updates. An actor that begins as
    the reference (the residual form) may do without and is measured all the same; one that began with the weights of
    another run is not drawn back.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self.state = WarmStartState()

    @property
    def updates(self) -> int:
        """Pre-training updates made."""
        return self.state.updates

    def warm(self, progress: Progress, rows: int) -> bool:
        """Whether enough of the reference's own doing has been seen."""
        c = self._config
        return progress.phases >= c.warmup_episodes and rows >= max(c.warmup_rows, 2 * c.batch)

    def left(self, progress: Progress) -> int:
        """Pre-training updates that come before anything else now."""
        return self.state.left or (self._config.bc_pretrain_updates if self._another(progress) else 0)

    def unmeasured(self, progress: Progress) -> bool:
        """Whether the actor's error to the reference is to be measured now, there being no pre-training to do it."""
        without = self._config.bc_pretrain_updates == 0 and not progress.started
        return without and progress.critic_updates == 0 and progress.pretrained_error == math.inf

    def count(self, progress: Progress) -> bool:
        """Count one pre-training update; True if it was the last of its round."""
        if self.state.left == 0:
            self.state.left, self.state.rows = self._config.bc_pretrain_updates, progress.rows
        self.state.left -= 1
        self.state.updates += 1
        return self.state.left == 0

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take over the state of a checkpoint."""
        self.state = WarmStartState(**values)

    def _another(self, progress: Progress) -> bool:
        if progress.started:
            return False
        if self.state.rows == 0:
            return True
        still_far = progress.pretrained_error > self._config.gate_reference_error
        return still_far and progress.rows >= MORE_ROWS * self.state.rows

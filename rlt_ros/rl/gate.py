"""When the actor may drive: a latch that says what it waits for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rlt_ros.rl.config import AgentConfig

OUTCOMES_NEEDED = {"both": 2, "one": 1, "none": 0}


@dataclass
class Progress:
    """What the learner has seen and done so far.

    pretrained_error: mean squared distance of the pre-trained actor to the reference, with the reference as input;
    infinite before pre-training. started: the actor came from a weights file and need not equal the reference.
    """

    rows: int = 0
    phases: int = 0
    successes: int = 0
    failures: int = 0
    critic_updates: int = 0
    pretrained_error: float = math.inf
    started: bool = False


class Gate:
    """Once open it stays open: a robot whose driver comes and goes with a metric cannot be understood."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self.open = False
        self.reason = "nothing learned yet"

    def update(self, progress: Progress) -> None:
        """Open if nothing is missing any more."""
        missing = [] if self.open else self._missing(progress)
        self.open = not missing
        self.reason = "; ".join(missing)

    def _missing(self, p: Progress) -> list[str]:
        c = self._config
        seen = (p.successes > 0) + (p.failures > 0)
        error = f"actor's squared error to the reference {p.pretrained_error:.3g}, limit {c.gate_reference_error:g}"
        conditions = (
            (p.phases >= c.warmup_episodes, f"warm-up phases {p.phases} of {c.warmup_episodes}"),
            (p.rows >= c.gate_rows, f"rows {p.rows} of {c.gate_rows}"),
            (p.critic_updates >= c.gate_updates, f"critic updates {p.critic_updates} of {c.gate_updates}"),
            (
                seen >= OUTCOMES_NEEDED[c.gate_outcomes],
                f"outcomes: {p.successes} successes, {p.failures} failures, {c.gate_outcomes} needed",
            ),
            (p.started or p.pretrained_error <= c.gate_reference_error, error),
        )
        return [text for fulfilled, text in conditions if not fulfilled]

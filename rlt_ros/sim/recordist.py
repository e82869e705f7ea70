"""The scripted person who records demonstrations: begins at the start state, labels the end."""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.loop.requests import Request
from rlt_ros.ranges import Positive
from rlt_ros.sim.truth import Truth
from rlt_ros.types import Phase


@dataclass(frozen=True)
class RecordistConfig:
    """When the scripted person gives up."""

    fail_after: Positive = 100  # control steps of a demonstration after which it is a failure


class Recordist:
    """Presses begin as soon as a demonstration can be recorded, then success or failure."""

    def __init__(self, config: RecordistConfig | None = None) -> None:
        self._config = config or RecordistConfig()

    def decide(self, truth: Truth, phase: Phase, steps_in_phase: int, ready: bool) -> list[Request]:
        """Requests at one observation. ready: the demonstrations before are settled and another can be taken."""
        if phase is Phase.APPROACH:
            return [Request.BEGIN] if ready else []
        if phase is not Phase.CRITICAL:
            return []
        if truth.success:
            return [Request.SUCCESS]
        return [Request.FAILURE] if steps_in_phase >= self._config.fail_after else []

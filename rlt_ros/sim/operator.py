"""The person beside the robot, scripted: decides from the simulator's truth what a person would decide by looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlt_ros.loop.requests import Request
from rlt_ros.ranges import Count, Figure, Positive, Share
from rlt_ros.sim.truth import Truth
from rlt_ros.types import Mode, Phase

MODE_REQUESTS = {Mode.HOLD: Request.MODE_HOLD, Mode.VLA: Request.MODE_VLA, Mode.RL: Request.MODE_RL}
"""Requests that give control back after a correction."""


@dataclass(frozen=True)
class OperatorConfig:
    """When the scripted operator presses which button. Steps are control steps."""

    begin_height: Figure = 0.020
    """m, of the tip above the board, below which the critical phase begins."""
    begin_after: Count = 40
    """Steps of approach after which it begins anyway: a policy that dawdles must practise too."""
    fail_after: Positive = 100
    """Steps of the critical phase after which it is a failure."""
    intervention: Share = 0.0
    """Probability per phase that the operator helps if there is no success by `patience`."""
    help_phases: Count = 0
    """Critical phases from the first on in which the operator may help; 0: all."""
    patience: Count = 50
    """Steps of the critical phase before the operator helps."""
    correction: Count = 20
    """Steps that a correction lasts at most."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.intervention <= 1.0:
            raise ValueError(f"intervention is {self.intervention}; expected a probability from 0 to 1")
        if self.help_phases < 0:
            raise ValueError(f"help_phases is {self.help_phases}; expected 0 or more")


class ScriptedOperator:
    """Begins the critical phase near the hole, labels its end, asks for a reset, and helps if told to.

    The same seed gives the same decisions for the same course of events. Corrections are driven by `expert.Expert`.
    """

    def __init__(self, config: OperatorConfig | None = None, seed: int = 0) -> None:
        self._config = config or OperatorConfig()
        self._rng = np.random.default_rng(seed)
        self._willing = False
        self._begun = 0
        self._given_back = Mode.VLA
        self._until: int | None = None

    def decide(
        self, truth: Truth, phase: Phase, steps_in_phase: int, mode: Mode = Mode.RL, may_help: bool = True
    ) -> list[Request]:
        """Requests at one observation, in the order in which they are to be made; called once per observation.

        steps_in_phase: control steps executed since the phase began. mode: who drives now. may_help: false in an
        evaluation.
        """
        if phase == Phase.APPROACH:
            return self._approach(truth, steps_in_phase)
        if phase == Phase.CRITICAL:
            return self._critical(truth, steps_in_phase, mode if may_help else None)
        return [Request.RESET] if phase == Phase.LABELLED else []

    def _approach(self, truth: Truth, steps: int) -> list[Request]:
        if -truth.depth >= self._config.begin_height and steps < self._config.begin_after:
            return []
        self._begun += 1
        helps = not 0 < self._config.help_phases < self._begun
        self._willing = bool(self._rng.random() < self._config.intervention) and helps
        self._until = None
        return [Request.BEGIN]

    def _critical(self, truth: Truth, steps: int, mode: Mode | None) -> list[Request]:
        label = self._label(truth, steps)
        if label is not None:
            return [*self._hand_back(), label]
        if self._until is not None:
            return self._hand_back() if steps >= self._until else []
        if self._willing and steps >= self._config.patience and mode in MODE_REQUESTS:
            return self._take_over(steps, mode)
        return []

    def _label(self, truth: Truth, steps: int) -> Request | None:
        if truth.success:
            return Request.SUCCESS
        return Request.FAILURE if steps >= self._config.fail_after else None

    def _take_over(self, steps: int, mode: Mode) -> list[Request]:
        self._willing, self._given_back = False, mode
        self._until = steps + self._config.correction
        return [Request.MODE_HUMAN]

    def _hand_back(self) -> list[Request]:
        if self._until is None:
            return []
        self._until = None
        return [MODE_REQUESTS[self._given_back]]

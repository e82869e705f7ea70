"""What the operator sees of a run, as one value: the content of rlt_ros/OperatorStatus."""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.types import Driver, Label, Mode, Phase


@dataclass(frozen=True)
class OperatorStatus:
    """Where a run stands. Stamps in ns of ROS time; ages in seconds at the moment of `stamp`; None: not known yet.

    mode: asked for; driver: who really drove the last executed step. phase_id: under way or ended last. phase_steps:
    executed in it, in the approach those since the reset. labels: of the last 20 critical phases that were not
    discarded, newest last; success_rate among their SUCCESS and FAILURE, intervention_rate over their executed steps,
    0..1. rows, updates, update_debt: the learner's; weights_version, weights_age: the actor's, 0 without weights.
    request, accepted, answer: the last of `answers` presses. The rest stands beside the fields of the message.
    """

    stamp: int = 0
    phase: Phase = Phase.IDLE
    mode: Mode = Mode.HOLD
    driver: Driver | None = None
    phase_id: int = 0
    phase_steps: int = 0
    episode: int = 0
    evaluation: bool = False
    intervened: bool = False
    paused: bool = False
    finished: bool = False
    hold_reason: str = ""
    recovery: bool = False
    robot_mode: str = ""
    stage: str = ""
    stage_episodes: int = 0
    stage_episodes_wanted: int = 0
    practice_minutes: float = 0.0
    practice_minutes_wanted: float = 0.0
    robot_minutes: float = 0.0
    labels: tuple[Label, ...] = ()
    success_rate: float | None = None
    intervention_rate: float | None = None
    failure_streak: int = 0
    seconds_since_label: float | None = None
    learner_silence: float | None = None
    rows: int = 0
    updates: int = 0
    update_debt: int = 0
    gate_open: bool = False
    gate_reason: str = ""
    actor_silence: float | None = None
    weights_version: int = 0
    weights_age: float = 0.0
    start_poses: int = 0
    devices: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: int = 0
    request: str = ""
    accepted: bool = False
    answer: str = ""
    answer_stamp: int = 0

    @property
    def at_once(self) -> tuple[object, ...]:
        """What must be shown as soon as it changes; the rest can wait for the next fifth of a second."""
        asked = (self.phase, self.mode, self.phase_id, self.episode, self.paused, self.finished)
        return (*asked, self.driver, self.hold_reason, self.stage, self.answers, self.devices)

"""Runs a session through the phase machine: one plan after the other, each result told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Request
from rlt_ros.loop.session import PRACTICE, Session
from rlt_ros.robot.following import stood_still
from rlt_ros.robot.recovery import needed_by
from rlt_ros.types import EpisodeEvent, ExecutedStep, Phase, PolicyMode


@dataclass(frozen=True)
class Word:
    """The operator's word for an observation, and the critical phases that ended with it.

    results: of the episodes whose phases they were, in the same order.
    """

    mode: PolicyMode
    events: list[EpisodeEvent]
    results: list[EpisodeResult]


class Conductor:
    """Counts what was executed and hands labels to the session and plans to the phase machine."""

    def __init__(self, machine: PhaseMachine, session: Session) -> None:
        self.machine, self.session = machine, session
        self._executed: ExecutedStep | None = None
        self._phase_id = 0
        self._phase_steps = 0
        self._drivers: Counter[str] = Counter()
        self._episode_steps = 0
        self._robot_steps = 0
        self._finished = False
        self._plan: EpisodePlan | None = None
        self._plan_next()

    @property
    def finished(self) -> bool:
        """Every episode of the session has ended."""
        return self._finished

    @property
    def evaluating(self) -> bool:
        """The episode under way is an evaluation: help would make it invalid."""
        return self.session.progress.stage != PRACTICE

    @property
    def executed(self) -> ExecutedStep | None:
        """The newest executed step."""
        return self._executed

    @property
    def steps_in_phase(self) -> int:
        """Steps executed in the critical phase under way or ended last; before it, those of the episode."""
        if self.machine.phase is Phase.APPROACH:
            return self._episode_steps
        # A phase that has begun while an older chunk runs on has no steps of its own yet.
        return self._phase_steps if self._phase_id == self.machine.phase_id else 0

    @property
    def robot_steps(self) -> int:
        """Control steps since the start, evaluation included."""
        return self._robot_steps

    def state(self) -> dict[str, Any]:
        """What `take_up` needs, JSON-ready: it changes when a critical phase begins or ends."""
        critical = self.machine.phase is Phase.CRITICAL
        return {"phase_id": self.machine.phase_id, "critical": critical, "session": self.session.state()}

    @staticmethod
    def take_up(machine: PhaseMachine, session: Session, state: Mapping[str, Any]) -> Conductor:
        """A conductor in the place of one that was lost."""
        machine.take_up(state["phase_id"], state["critical"])
        session.take_up(state["session"])
        return Conductor(machine, session)

    def add_executed(self, step: ExecutedStep) -> None:
        """Count a step; repeated ones are ignored."""
        if self._executed is not None and step.observation_id <= self._executed.observation_id:
            return
        self._executed = step
        self._robot_steps += 1
        self._episode_steps = 0 if step.reset_done else self._episode_steps + 1
        if step.phase_id and step.phase_id != self._phase_id:
            self._phase_id, self._phase_steps = step.phase_id, 0
            self._drivers.clear()
        self._phase_steps += bool(step.phase_id)
        if step.phase_id:
            self._drivers[step.driver.name] += 1
        if needed_by(step.reason) and self.machine.phase is Phase.CRITICAL:
            # Truncated: what the policy did is not what ended it. Steps that the arm did not follow teach nothing.
            self.machine.request(Request.DISCARD if stood_still(step.reason) else Request.ABORT)

    def observe(self, observation_id: int, stamp: int, episode: int) -> Word:
        """The word for an observation, after every step before it was added; the same mode again for a repeated one."""
        mode = self.machine.observe(observation_id, stamp, episode, self._executed)
        events = self.machine.events()
        return Word(mode, events, [self._ended(event) for event in events])

    def _ended(self, event: EpisodeEvent) -> EpisodeResult:
        plan, steps, helped = self._plan, self._steps_of(event), self.machine.intervened
        counted = self.session.ended(event.label, steps, self._episode_steps, helped)
        drivers = dict(self._drivers) if event.phase_id == self._phase_id else {}
        self._plan_next()
        return EpisodeResult.of(event, plan, steps, self._episode_steps, drivers, helped, counted)

    def _steps_of(self, event: EpisodeEvent) -> int:
        return self._phase_steps if event.phase_id == self._phase_id else 0

    def _plan_next(self) -> None:
        self._plan = self.session.next_episode()
        self._finished = self._plan is None
        self.machine.plan(self._plan)

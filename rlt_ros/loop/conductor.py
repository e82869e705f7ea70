"""Runs a session through the phase machine: one plan after the other, each result told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.loop.session import PRACTICE, Session
from rlt_ros.loop.starts import START_REQUESTS, StartPoses
from rlt_ros.robot.following import stood_still
from rlt_ros.robot.recovery import needed_by
from rlt_ros.types import EpisodeEvent, ExecutedStep, Mode, Phase, PolicyMode


@dataclass(frozen=True)
class Word:
    """The operator's word for an observation, and the critical phases that ended with it.

    results: of the episodes whose phases they were, in the same order.
    """

    mode: PolicyMode
    events: list[EpisodeEvent]
    results: list[EpisodeResult]


class Conductor:
    """Counts what was executed and hands labels to the session and plans to the phase machine.

    starts: poses that a person has saved to practise from; None where there can be none.
    """

    def __init__(self, machine: PhaseMachine, session: Session, starts: StartPoses | None = None) -> None:
        self.machine, self.session, self.starts = machine, session, starts
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
        starts = self.starts.state() if self.starts else []
        session = self.session.state()
        return {"phase_id": self.machine.phase_id, "critical": critical, "session": session, "starts": starts}

    @staticmethod
    def take_up(
        machine: PhaseMachine, session: Session, state: Mapping[str, Any], starts: StartPoses | None = None
    ) -> Conductor:
        """A conductor in the place of one that was lost."""
        machine.take_up(state["phase_id"], state["critical"])
        session.take_up(state["session"])
        if starts:
            starts.take_up(state["starts"])
        return Conductor(machine, session, starts)

    def request(self, request: Request) -> Answer:
        """Ask for something; refused with the reason where it is not possible."""
        if request not in START_REQUESTS:
            return self.machine.request(request)
        if self.starts is None:
            return Answer(False, f"{request.value}: nothing is practised here")
        if self.machine.mode is Mode.RESET:
            return Answer(False, f"{request.value}: a reset is in progress; only a stop can interrupt it")
        answer = self.starts.request(request)
        if answer.accepted and self.machine.planned:
            self.machine.plan(self._placed(self.machine.planned))
        return answer

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
        self.machine.plan(self._placed(self._plan))

    def _placed(self, plan: EpisodePlan | None) -> EpisodePlan | None:
        if plan is None or self.starts is None:
            return plan
        return replace(plan, reset_start=self.starts.start(plan))

"""Collects what the `teleop` node hears and says, and makes the operator's status of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.report import SILENCE as LINK_SILENCE
from rlt_ros.loop.report import link_text
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.coach import hints
from rlt_ros.operator.devices.said import DevicesSaid
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.tally import Tally
from rlt_ros.rl.alarms import raised
from rlt_ros.robot.recovery import needed_by
from rlt_ros.types import EpisodeEvent, ExecutedStep, PolicyMode

SILENCE = 5.0
"""Seconds without a word from a node that speaks every second, or without an observation, that are warned of."""


class Reports:
    """The newest statistics of a node, and how long ago they came."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._began = clock, clock()
        self._at: float | None = None
        self.stats: Any | None = None

    def take(self, stats: Any) -> None:
        """Newer statistics."""
        self.stats, self._at = stats, self._clock()

    @property
    def silence(self) -> float | None:
        """Seconds since they came, None before the first."""
        return None if self._at is None else self._clock() - self._at

    def warning(self, name: str) -> str:
        """What to say of a silence, empty while there is none."""
        since = self._clock() - (self._began if self._at is None else self._at)
        return f"no word from {name} for {since:.0f} s" if since > SILENCE else ""


class StatusBoard:
    """Facts for the operator.

    gate: whether the learned actor may drive and what it waits for. learns: an actor and a learner belong to the graph.
    robot_mode: as the executor reports it. referee: what it says of itself. clock: steady, in seconds.
    """

    def __init__(
        self,
        conductor: Conductor,
        control_rate: float,
        gate: Callable[[], tuple[bool, str]],
        learns: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conductor, self._gate, self._learns, self._clock = conductor, gate, learns, clock
        self._steps_per_minute = 60.0 * control_rate
        self._tally = Tally()
        self.actor, self.learner, self.observation = Reports(clock), Reports(clock), Reports(clock)
        self.devices = DevicesSaid(clock)
        self.referee = Reports(clock)
        self.robot_mode = ""
        self._word: PolicyMode | None = None
        self._step: ExecutedStep | None = None
        self._labelled: float | None = None
        self._answers, self._answer, self._answer_stamp = 0, Answer(False, ""), 0
        self._request = ""

    def executed(self, step: ExecutedStep) -> None:
        """Take an executed step; repeated ones are ignored."""
        if self._step is None or step.observation_id > self._step.observation_id:
            self._step = step
            self._tally.add(step)

    def said(self, word: PolicyMode, events: Iterable[EpisodeEvent]) -> None:
        """Take the word for an observation and the phases that ended with it."""
        self._word = word
        self.observation.take(word)
        for event in events:
            self._tally.end(event)
            self._labelled = self._clock()

    def answered(self, request: Request, answer: Answer, stamp: int) -> None:
        """Take the answer to a request; stamp in ns of ROS time."""
        self._answers += 1
        self._request, self._answer, self._answer_stamp = request.value, answer, stamp

    def status(self, stamp: int, links: Iterable[Any] = (), warnings: Iterable[str] = ()) -> OperatorStatus:
        """Where the run stands at a stamp in ns of ROS time.

        links: the newest LinkStats of each node that the actor has asked. warnings: of the node itself.
        """
        machine, progress = self._conductor.machine, self._conductor.session.progress
        word, step, tally = self._word, self._step, self._tally
        is_open, reason = self._gate()
        starts = self._conductor.starts
        facts = OperatorStatus(
            stamp=stamp,
            phase=machine.phase,
            mode=machine.mode,
            driver=step.driver if step else None,
            phase_id=machine.phase_id,
            phase_steps=self._conductor.steps_in_phase,
            episode=word.episode if word else 0,
            evaluation=word.evaluation if word else False,
            intervened=machine.intervened,
            paused=machine.paused,
            finished=self._conductor.finished,
            hold_reason=step.reason if step else "",
            recovery=step is not None and needed_by(step.reason),
            robot_mode=self.robot_mode,
            stage=progress.stage,
            stage_episodes=progress.episode,
            stage_episodes_wanted=progress.wanted,
            practice_minutes=progress.practice_steps / self._steps_per_minute,
            practice_minutes_wanted=progress.practice_total / self._steps_per_minute,
            robot_minutes=self._conductor.robot_steps / self._steps_per_minute,
            labels=tally.labels,
            success_rate=tally.success_rate,
            intervention_rate=tally.intervention_rate,
            failure_streak=tally.failure_streak,
            seconds_since_label=None if self._labelled is None else self._clock() - self._labelled,
            gate_open=is_open,
            gate_reason=reason,
            start_poses=len(starts.saved) if starts else 0,
            devices=self.devices.live,
            warnings=tuple(filter(None, (*warnings, *self._warnings(links)))),
            answers=self._answers,
            request=self._request,
            accepted=self._answer.accepted,
            answer=self._answer.message,
            answer_stamp=self._answer_stamp,
            **self._learning(),
        )
        seconds = facts.phase_steps / self._steps_per_minute * 60.0
        return replace(facts, hints=(*self._referee(), *hints(facts, seconds)))

    def _referee(self) -> tuple[str, ...]:
        silent = self.referee.stats is None or self.referee.warning("")
        return () if silent else (f"referee: {self.referee.stats}",)

    def _learning(self) -> dict[str, Any]:
        actor, learner = self.actor.stats, self.learner.stats
        figures: dict[str, Any] = {"learner_silence": self.learner.silence, "actor_silence": self.actor.silence}
        if learner is not None:
            figures |= {"rows": int(learner.rows), "updates": int(learner.critic_updates)}
            figures |= {"update_debt": int(learner.update_debt)}
        if actor is not None and actor.weights_version:
            age = float(actor.weights_age) + (self.actor.silence or 0.0)
            figures |= {"weights_version": int(actor.weights_version), "weights_age": age}
        return figures

    def _warnings(self, links: Iterable[Any]) -> list[str]:
        found = [self.observation.warning("the observation node")]
        if self._learns:
            found += [self.actor.warning("the actor"), self.learner.warning("the learner")]
        if self.referee.stats is not None:
            found.append(self.referee.warning("the referee: begin and label yourself"))
        if self.learner.stats is not None and raised(self.learner.stats):
            found.append(f"learner: {self.learner.stats.alarms}")
        found += self.devices.warnings
        return found + [link_text(link) for link in links if link.silence > LINK_SILENCE]

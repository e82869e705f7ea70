"""A whole run in one process: practice, evaluations at its end and at chosen moments, files, summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from rlt_ros.loop.evaluation import Evaluator, best_dither
from rlt_ros.loop.inprocess import BATCH, Hooks, InProcess
from rlt_ros.loop.pace import Pace
from rlt_ros.loop.parts import Parts
from rlt_ros.loop.record import Record
from rlt_ros.loop.report import status_line
from rlt_ros.loop.session import EVALUATIONS, EXPERT, FINAL
from rlt_ros.loop.settings import Settings
from rlt_ros.types import Observation, Phase, PolicyWeights, Transition


@dataclass(frozen=True)
class Wishes:
    """What is evaluated besides the final actor, on the same start states, and how."""

    moments: tuple[float, ...] = ()  # minutes of practice after which the actor of that moment is evaluated
    dither: tuple[float, ...] = ()  # sigmas of held noise with which the unlearned VLA is evaluated
    expert: bool = False  # whether the scripted expert is evaluated
    exact: bool = False  # one VLA pass at a time, as in the lockstep graph
    base: bool = True  # whether the unlearned VLA is evaluated at the end


class Practice:
    """Practises and evaluates; moments change nothing in what is learned.

    record: the run directory's files, None to write nothing. say: takes a line of progress.
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        wishes: Wishes,
        record: Record | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._parts, self._settings, self._wishes, self._record, self._say = parts, settings, wishes, record, say
        self._moments: list[dict[str, Any]] = []
        self._waiting = sorted(wishes.moments)
        self._pace = Pace(settings.session.control_rate)
        hooks = Hooks(self._on_rows, self._report, self._on_weights, self._on_episode, self._on_picture)
        self._loop = InProcess(
            parts,
            settings.session,
            settings.loop,
            background=settings.agent.async_training,
            batch=1 if wishes.exact else BATCH,
            evaluations=EVALUATIONS if wishes.base else FINAL,
            hooks=hooks,
            # A name of its own: `rlt train` refuses the same stream from two runs.
            stream=uuid4().hex,
        )
        self._evaluator = Evaluator(parts, settings.session, settings.loop, episode=self._report)

    def run(self) -> dict[str, Any]:
        """Run to the end, or to `interrupt`; returns the summary, JSON-ready: that of the graph and more.

        Raises TrainingFailed; then the last checkpoint before the failure is the newest one.
        """
        started = time.monotonic()
        try:
            summary = self._loop.run()
        except BaseException:
            if self._record is not None:
                self._record.abandon()
            raise
        if self._record is not None:
            self._record.close()
        summary |= self._learned() | {"moments": self._all_moments(summary)} | self._baselines()
        return summary | {"interrupted": self._interrupted(), "wall_time_s": time.monotonic() - started}

    def interrupt(self) -> None:
        """Let `run` end soon, with a summary of what there is; a signal handler may call it."""
        self._loop.interrupt()
        self._evaluator.interrupt()

    def _interrupted(self) -> bool:
        return self._loop.interrupted or self._evaluator.interrupted

    def _on_rows(self, rows: list[Transition]) -> None:
        if self._record is not None:
            self._record.rows(rows)

    def _on_weights(self, weights: PolicyWeights) -> None:
        if self._record is not None:
            self._record.weights(weights)

    def _on_picture(self, observation: Observation) -> None:
        conductor = self._loop.conductor
        if self._record is not None and conductor.machine.phase is Phase.CRITICAL:
            self._record.log.seen(conductor.steps_in_phase, observation)

    def _on_episode(self, loop: InProcess) -> None:
        if self._record is not None:
            self._record.log.ended(loop.result)
        if self._record is not None and not loop.conductor.evaluating:
            self._record.episode()
        self._report(loop)
        while self._moment_has_come():
            scores = self._evaluator.scores(FINAL, loop.policy.policy)
            if not self._interrupted():
                self._moments.append(self._moment(scores))

    def _moment_has_come(self) -> bool:
        practising = not (self._loop.conductor.evaluating or self._interrupted())
        return practising and bool(self._waiting) and self._practised() >= self._waiting[0]

    def _report(self, loop: InProcess) -> None:
        progress = loop.session.progress
        pace = self._pace.of(progress, loop.session.config.eval_episodes)
        if pace:
            line = status_line(progress, self._settings.session.control_rate, None, self._parts.learner.stats())
            self._say(f"{line} | {pace}")

    def _practised(self) -> float:
        """Minutes of robot time."""
        return self._loop.session.progress.practice_steps / self._settings.session.control_rate / 60.0

    def _moment(self, scores: dict[str, Any]) -> dict[str, Any]:
        when = {"minutes": self._waiting.pop(0), "practised_minutes": self._practised()}
        return {**when, "rows": self._loop.outbox.published, **self._learned(), **scores}

    def _all_moments(self, summary: dict[str, Any]) -> list[dict[str, Any]]:
        """Those that lie at the end of practice are the final evaluation."""
        while self._waiting and not self._interrupted():
            self._moments.append(self._moment({name: summary[name] for name in FINAL}))
        return self._moments

    def _learned(self) -> dict[str, Any]:
        stats = self._parts.learner.stats()
        updates = {"critic": stats.critic_updates, "actor": stats.actor_updates}
        return {"gate_open": stats.gate_open, "updates": updates}

    def _baselines(self) -> dict[str, Any]:
        wishes, found = self._wishes, {}
        if wishes.expert:
            found |= self._evaluator.scores(EXPERT)
        if wishes.dither:
            scores = self._evaluator.dither(wishes.dither)
            found |= {"dither": scores, "best_dither": best_dither(scores)}
        return found

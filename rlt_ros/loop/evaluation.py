"""Evaluations beside a run: of a policy at one moment, of the best dither, of the scripted expert."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.inprocess import Hooks, InProcess
from rlt_ros.loop.parts import Parts
from rlt_ros.loop.policy import Policy
from rlt_ros.loop.session import BASE_WITH_NOISE, Evaluations, SessionConfig
from rlt_ros.types import PolicyWeights, Transition

Scores = dict[str, dict[str, Any]]


class _Frozen:
    """A learner that learns nothing, so that what is evaluated stays what it is."""

    due_updates = 0

    def add(self, rows: list[Transition]) -> int:
        """Raises RuntimeError: rows of an evaluation must not exist."""
        raise RuntimeError(f"an evaluation made {len(rows)} rows")

    def train(self, max_updates: int, stop: Callable[[], bool]) -> int:
        """Nothing."""
        return 0

    def weights(self) -> PolicyWeights:
        """Version 0: nothing to swap to."""
        return PolicyWeights(0, "", "", False, "an evaluation learns nothing", b"")


class Evaluator:
    """Evaluates in a loop of its own: numbers of observations and phases, the executor's state and the operator's
    random numbers are not those of practice, which goes on as if nothing had been between. Only the world is shared,
    and between two episodes: whoever comes next resets it.

    config: whose eval_episodes, seed and time_limit count. episode: called after each episode, with the loop.
    """

    def __init__(
        self,
        parts: Parts,
        config: SessionConfig,
        loop: LoopConfig,
        episode: Callable[[InProcess], None] = lambda loop: None,
    ) -> None:
        self._parts, self._operator = parts, copy.deepcopy(parts.operator)
        self._config, self._loop, self._episode = replace(config, practice_minutes=0.0), loop, episode
        self._running: InProcess | None = None
        self.interrupted = False

    def scores(self, evaluations: Evaluations, policy: Policy | None = None, sigma: float | None = None) -> Scores:
        """Name of each evaluation -> episodes, successes, mean_steps. policy: the learned actor, for RL. sigma: of the
        held noise where it is not the loop's.
        """
        parts = replace(self._parts, operator=copy.deepcopy(self._operator), learner=_Frozen())
        config = self._loop if sigma is None else replace(self._loop, sigma=sigma)
        hooks = Hooks(episode=self._episode)
        loop = InProcess(parts, self._config, config, evaluations=evaluations, hooks=hooks)
        loop.policy.swap(policy)
        self._running = loop
        if not self.interrupted:
            loop.run()
        self._running = None
        return loop.session.results()

    def dither(self, sigmas: Sequence[float]) -> Scores:
        """The unlearned VLA with held noise: sigma -> scores (`method.md` A: noise alone helps in contact)."""
        return {f"{sigma:g}": self.scores(BASE_WITH_NOISE, sigma=sigma)["base_with_noise"] for sigma in sigmas}

    def interrupt(self) -> None:
        """End after the control step under way; a signal handler may call it."""
        self.interrupted = True
        if self._running is not None:
            self._running.interrupt()


def best_dither(scores: Scores) -> dict[str, Any] | None:
    """The one with the most successes and then the fewest steps, with its `sigma`; None without any."""
    evaluated = {sigma: score for sigma, score in scores.items() if score["episodes"]}
    if not evaluated:
        return None
    best = min(evaluated, key=lambda sigma: (-evaluated[sigma]["successes"], evaluated[sigma]["mean_steps"]))
    return {"sigma": float(best), **evaluated[best]}

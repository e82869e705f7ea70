"""The plan of a run: practise, then evaluate each driver on the same start states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.ranges import Amount, Count, Positive, Rate, Seed
from rlt_ros.types import Label, Mode

PRACTICE, DONE = "practice", "done"
Evaluations = Mapping[str, tuple[Mode, bool]]
"""Name of an evaluation: who drives the critical phase, and whether the held exploration noise is added."""

FINAL: Evaluations = {"final": (Mode.RL, False), "final_with_noise": (Mode.RL, True)}
BASE_WITH_NOISE: Evaluations = {"base_with_noise": (Mode.VLA, True)}
EVALUATIONS: Evaluations = {"base": (Mode.VLA, False), **BASE_WITH_NOISE, **FINAL}
EXPERT: Evaluations = {"expert": (Mode.HUMAN, False)}
"""A person, or the scripted expert, drives all of the critical phase: what there is to reach."""

_HALF = 2**30


def chosen_evaluations(names: Sequence[str]) -> Evaluations:
    """Evaluations by their names, in this order. Raises ValueError on an unknown or repeated one, or on none."""
    unknown = [name for name in names if name not in EVALUATIONS]
    if unknown or not names or len(set(names)) < len(names):
        known = ", ".join(EVALUATIONS)
        raise ValueError(f"evaluations are {', '.join(names) or 'empty'}; expected some of {known}, once")
    return {name: EVALUATIONS[name] for name in names}


@dataclass(frozen=True)
class SessionConfig:
    """Length and seeds of a run."""

    practice_minutes: Amount = 7.0  # robot time of practice, counted in control steps
    control_rate: Rate = 20.0  # Hz
    max_episodes: Count = 0  # practice ends after so many, whatever the time; 0: no limit
    eval_episodes: Count = 50  # of each evaluation
    warmup_episodes: Count = 20  # labelled practice episodes that the VLA drives, with noise
    time_limit: Positive = 100  # steps that a failure counts as
    seed: Seed = 0  # of the start states

    def __post_init__(self) -> None:
        for name in ("practice_minutes", "max_episodes", "eval_episodes", "warmup_episodes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")

    @property
    def practice_steps(self) -> int:
        """Control steps of practice."""
        return round(self.practice_minutes * 60.0 * self.control_rate)


@dataclass
class Score:
    """Results of one stage. steps: of each episode, a failure counted as the time limit. invalid: repeated episodes."""

    steps: list[int] = field(default_factory=list)
    successes: int = 0
    invalid: int = 0

    def add(self, success: bool, steps: int) -> None:
        """Count one labelled episode."""
        self.steps.append(steps)
        self.successes += success

    def summary(self) -> dict[str, float | int | None]:
        """JSON-ready; mean_steps is None where there was no episode."""
        mean = float(np.mean(self.steps)) if self.steps else None
        counts = {"episodes": len(self.steps), "successes": self.successes, "invalid": self.invalid}
        return counts | {"mean_steps": mean}


@dataclass(frozen=True)
class Progress:
    """Where a run stands. recent: success rate of the last 20 labelled episodes of the stage, None before the first.

    wanted: episodes of the stage after which it ends, 0 for no such limit.
    """

    stage: str
    episode: int
    recent: float | None
    practice_steps: int
    practice_total: int
    wanted: int = 0


class Session:
    """Hands out one plan at a time and takes its result.

    Practice lasts until its robot time or its episodes are used up; the episode under way is finished. Evaluation seeds
    are drawn from another half of the range than practice seeds, so no start state was practised; every evaluation, of
    whatever policy at whatever moment of the run, has the same ones.
    """

    def __init__(
        self, config: SessionConfig, rl_gate: Callable[[], tuple[bool, str]], evaluations: Evaluations = EVALUATIONS
    ) -> None:
        self.config = config
        self._evaluations = evaluations
        self._rl_gate = rl_gate
        self._practice_seeds = np.random.default_rng([config.seed, 0])
        drawn = np.random.default_rng([config.seed, 1]).choice(_HALF, config.eval_episodes, replace=False)
        self._eval_seeds = [int(seed) + _HALF for seed in drawn]
        self._scores = {name: Score() for name in (PRACTICE, *evaluations)}
        self._recent: deque[bool] = deque(maxlen=20)
        self._practised = 0
        self._practice_episodes = 0
        self._drawn = 0
        self._plan: EpisodePlan | None = None
        self._stage = PRACTICE

    def next_episode(self) -> EpisodePlan | None:
        """Plan of the next episode; the same one until `ended` is told, None when the run is over."""
        if self._plan is None:
            self._plan = self._practice_plan() if self._practising() else self._evaluation_plan()
            stage = self._plan.stage if self._plan else DONE
            if stage != self._stage:
                self._stage = stage
                self._recent.clear()
        return self._plan

    def ended(self, label: Label, steps: int, robot_steps: int, intervened: bool = False) -> bool:
        """Result of the episode planned last; whether it counts.

        steps: executed in the critical phase. robot_steps: in the whole episode, counted as practice time. An
        evaluation episode that was discarded, aborted or helped by a person is not counted and runs again.
        """
        plan = self._plan
        if plan is None:
            raise ValueError("an episode ended that was not planned; call next_episode first")
        self._plan = None
        score, labelled = self._scores[plan.stage], label in (Label.SUCCESS, Label.FAILURE)
        if not plan.evaluation:
            self._practised += robot_steps
            self._practice_episodes += 1
        helped = intervened and plan.policy is not Mode.HUMAN
        if not labelled or (plan.evaluation and helped):
            score.invalid += 1
            return False
        success = label is Label.SUCCESS
        score.add(success, steps if success else self.config.time_limit)
        self._recent.append(success)
        return True

    def state(self) -> dict[str, Any]:
        """What `take_up` needs, JSON-ready. The episode under way is not in it."""
        return {
            "practised": self._practised,
            "practice_episodes": self._practice_episodes,
            "drawn": self._drawn,
            "scores": {name: asdict(score) for name, score in self._scores.items()},
        }

    def take_up(self, state: Mapping[str, Any]) -> None:
        """Go on in the place of a session that was lost; called before its first plan."""
        self._practised, self._practice_episodes = state["practised"], state["practice_episodes"]
        self._drawn = state["drawn"]
        for _ in range(self._drawn):
            self._practice_seeds.integers(_HALF)
        self._scores |= {name: Score(**score) for name, score in state["scores"].items() if name in self._scores}

    def results(self) -> dict[str, dict[str, float | int | None]]:
        """Name of each evaluation -> episodes, successes, invalid (repeated) ones, mean_steps."""
        return {name: self._scores[name].summary() for name in self._evaluations}

    @property
    def practice(self) -> dict[str, float | int | None]:
        """The same figures of the practice episodes, warm-up included."""
        return self._scores[PRACTICE].summary()

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        score = self._scores.get(self._stage)
        episode = self._practice_episodes if self._stage == PRACTICE else len(score.steps) if score else 0
        recent = sum(self._recent) / len(self._recent) if self._recent else None
        limits = {PRACTICE: self.config.max_episodes, DONE: 0}
        wanted = limits.get(self._stage, self.config.eval_episodes)
        return Progress(self._stage, episode, recent, self._practised, self.config.practice_steps, wanted)

    def _practising(self) -> bool:
        limit = self.config.max_episodes
        return self._practised < self.config.practice_steps and not 0 < limit <= self._practice_episodes

    def _practice_plan(self) -> EpisodePlan:
        warm = len(self._scores[PRACTICE].steps) >= self.config.warmup_episodes
        policy = Mode.RL if warm and self._rl_gate()[0] else Mode.VLA
        self._drawn += 1
        return EpisodePlan(policy=policy, reset_seed=int(self._practice_seeds.integers(_HALF)))

    def _evaluation_plan(self) -> EpisodePlan | None:
        for name, (policy, explore) in self._evaluations.items():
            done = len(self._scores[name].steps)
            if done < self.config.eval_episodes:
                seed = self._eval_seeds[done]
                return EpisodePlan(policy, explore, record=False, evaluation=True, reset_seed=seed, stage=name)
        return None

"""Practice and evaluation on `synthetic.Insertion`, as the robot's loop does it."""

from __future__ import annotations

import numpy as np
from synthetic import CONTRACT, Insertion

from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.policy import PolicyNet
from rlt_ros.rl.weights import load_policy
from rlt_ros.types import Driver, Features, Label, Transition


class Practice:
    """Runs episodes with the reference or a policy and cuts them into rows."""

    def __init__(self, config: AgentConfig, seed: int) -> None:
        self.config = config
        self.rng = np.random.default_rng(seed)
        self.task = Insertion(np.random.default_rng(seed + 1))
        self._observation, self._row, self._phase = 0, 0, 0

    def episode(
        self, policy: PolicyNet | None, sigma: float, evaluation: bool = False
    ) -> tuple[bool, list[Transition]]:
        """Success and rows of one episode; sigma: held noise."""
        self.task.reset()
        seen, actions = [self._observe()], []
        while not self.task.inside and self.task.steps < self.task.limit:
            chunk = seen[-1].reference if policy is None else policy.act(seen[-1], evaluation)
            noise = np.repeat(self.rng.normal(0.0, sigma, (2, 2)), 2, axis=0)
            for action in chunk[: self.config.chunk]:
                action = np.clip(action + [*noise[len(actions) % 4], 0.0], -1.0, 1.0).astype(np.float32)
                self.task.act(action)
                actions.append(action)
                seen.append(self._observe())
                if self.task.inside or self.task.steps >= self.task.limit:
                    break
        driver = Driver.VLA if policy is None else Driver.ACTOR
        return self.task.inside, self._rows(seen, np.array(actions), driver, self.task.inside)

    def evaluate(self, policy: PolicyNet | None, episodes: int) -> float:
        """Share of successes without noise."""
        return float(np.mean([self.episode(policy, 0.0, evaluation=True)[0] for _ in range(episodes)]))

    def _observe(self) -> Features:
        self._observation += 1
        return self.task.observe(self._observation, self.config.chunk)

    def _rows(self, seen: list[Features], actions: np.ndarray, driver: Driver, success: bool) -> list[Transition]:
        self._phase += 1
        c, n, carried, made = self.config.chunk, len(actions), set(), []
        starts = range(0, n - 1, self.config.stride) if n > 1 else range(n)
        for start in starts:
            valid = min(c, n - start)
            ended = start + valid == n
            named = [seen[start]] if ended else [seen[start], seen[start + valid]]
            padded = np.zeros((c, 3), np.float32)
            padded[:valid] = actions[start : start + valid]
            rewards = np.zeros(c, np.float32)
            rewards[valid - 1] = ended and success
            self._row += 1
            made.append(
                Transition(
                    id=self._row, stream="robot", episode=self._phase, phase_id=self._phase, step=start,
                    features_id=seen[start].id, next_features_id=0 if ended else seen[start + valid].id, actions=padded,
                    drivers=np.full(c, driver, np.uint8), rewards=rewards, valid_horizon=valid, terminated=ended,
                    truncated=False, label=Label.SUCCESS if success else Label.FAILURE, steps_to_end=n - start,
                    weights_version=0, last_of_phase=start == starts[-1],
                    features=tuple(f for f in named if f.id not in carried),
                )
            )  # fmt: skip
            carried.update(f.id for f in named)
        return made


def practise(learner: Learner, practice: Practice, episodes: int) -> PolicyNet | None:
    """Lockstep: after each episode the debt is spent and the new weights are taken. Returns the last policy."""
    policy = None
    for _ in range(episodes):
        learner.add(practice.episode(policy, learner.config.rollout_noise)[1])
        learner.train(100_000)
        if learner.gate.open:
            policy = load_policy(learner.weights(), CONTRACT)
    return policy

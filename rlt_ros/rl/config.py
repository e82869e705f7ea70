"""Settings of the agent and of its learner, with the defaults of the design."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from rlt_ros.types import ACTION_NAMES, GRIPPER, PROPRIO_NAMES

OPERATIONAL = ("device", "threads")
"""Settings that may differ between a checkpoint and the run that resumes it: they say where, not what, is learned."""


@dataclass(frozen=True)
class Dims:
    """Sizes that the Stage-1 checkpoint and the robot dictate."""

    z: int  # Z, RL token
    proprio: int = len(PROPRIO_NAMES)  # P, normalised proprioception
    action: int = len(ACTION_NAMES)  # A, action space


@dataclass(frozen=True)
class AgentConfig:
    """Everything that decides what is learned. Equation numbers are those of arXiv 2604.23073."""

    # Return and windows
    gamma: float = 0.99  # discount per control step
    chunk: int = 10  # C, control steps per action chunk
    stride: int = 2  # a window starts at every stride-th control step of a phase
    q_low: float = 0.0  # lowest reachable return: targets are clipped to [q_low, q_high]
    q_high: float = 1.0  # highest reachable return
    q_alarm: float = 0.05  # Q further than this outside the reachable return raises alarm_q

    # Actor (Eqs. 4, 5)
    passthrough: tuple[int, ...] = (GRIPPER,)  # action dimensions copied from the reference: not in actor, critic, BC
    bc_beta: float = 0.1  # weight of the squared distance, SUMMED over the chunk; mean convention = beta * C * d
    reference_dropout: float = 0.5  # share of training rows whose reference INPUT is zeroed; never the BC target
    rollout_noise: float = 0.1  # sigma of exploration, held for noise_hold steps
    noise_hold: int = 5  # control steps that one exploration sample is held
    ema: float = 0.003  # step of the averaged actor towards the actor, per actor update

    # Critic (Eq. 3)
    critics: int = 3  # members of the ensemble; the actor climbs their mean
    target_critics: int = 2  # random members whose minimum is the target (REDQ)
    target_noise: float = 0.1  # sigma of target smoothing, the only noise in the target (TD3)
    target_noise_clip: float = 0.2  # bound of that noise
    tau: float = 0.005  # Polyak step of the target ensemble, per critic update

    # Networks and optimisation
    use_z: bool = True  # False: actor and critics see zeros in place of z_rl, an ablation
    hidden: int = 256  # units per hidden layer
    layers: int = 2  # hidden layers of actor and critics
    learning_rate: float = 3e-4  # Adam, actor and critics
    grad_clip: float = 10.0  # largest gradient norm, for each network on its own
    batch: int = 64  # rows per update; sampling needs twice as many in the replay
    actor_every: int = 2  # critic updates per actor update
    actor_after: int = 500  # critic updates before the first actor update

    # Warm start
    warmup_episodes: int = 20  # labelled phases of the reference before anything is learned
    warmup_rows: int = 200  # rows before anything is learned
    bc_pretrain_updates: int = 2000  # actor updates on BC alone, between warm-up and the first critic update
    gate_rows: int = 300  # the actor may drive only with so many rows
    gate_updates: int = 1000  # and after so many critic updates
    gate_outcomes: str = "both"  # and after seeing success and failure ("both"), either ("one") or nothing ("none")
    gate_reference_error: float = 0.02  # and if, after pre-training, its mean squared error to the reference is below

    # Budget and storage
    utd: int = 5  # critic updates earned by one new row
    max_debt: int = 10_000  # earned updates that may wait; the rest is forgone and counted
    replay_capacity: int = 100_000  # rows
    half_precision_z: bool = True  # z stored as float16
    seed: int = 0  # of networks, noise, dropout and sampling
    device: str = "cpu"  # torch device of networks and batches
    threads: int = 1  # of torch; two threads under load are slower than one, and layer norm then rounds differently

    def __post_init__(self) -> None:
        _require(self, "gamma", 0.0 < self.gamma <= 1.0, "in (0, 1]")
        _require(self, "chunk", self.chunk >= 1, "at least 1")
        _require(self, "stride", 1 <= self.stride <= self.chunk, f"in 1..chunk ({self.chunk})")
        _require(self, "q_high", self.q_high > self.q_low, f"above q_low ({self.q_low})")
        _require(self, "critics", self.critics >= 1, "at least 1")
        _require(self, "target_critics", 1 <= self.target_critics <= self.critics, f"in 1..critics ({self.critics})")
        _require(self, "reference_dropout", 0.0 <= self.reference_dropout < 1.0, "in [0, 1)")
        _require(self, "actor_every", self.actor_every >= 1, "at least 1")
        _require(self, "layers", self.layers >= 1, "at least 1")
        _require(self, "batch", self.batch >= 1, "at least 1")
        _require(self, "replay_capacity", self.replay_capacity >= 2 * self.batch, f"at least 2 * batch ({self.batch})")
        _require(self, "gate_outcomes", self.gate_outcomes in ("both", "one", "none"), "'both', 'one' or 'none'")
        measured = self.bc_pretrain_updates > 0 or self.gate_reference_error == math.inf
        _require(self, "gate_reference_error", measured, "inf without pre-training: nothing would measure it")
        for name in ("utd", "max_debt", "bc_pretrain_updates", "target_noise", "target_noise_clip", "bc_beta"):
            _require(self, name, getattr(self, name) >= 0, "not negative")

    def policy_dims(self, dims: Dims) -> tuple[int, ...]:
        """Action dimensions that the actor decides, all but the passed-through ones. Raises ValueError without any."""
        left = tuple(i for i in range(dims.action) if i not in self.passthrough)
        if not left:
            raise ValueError(f"passthrough {self.passthrough} leaves none of {dims.action} action dimensions to learn")
        return left

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON-ready values, in the order above."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


def _require(config: AgentConfig, name: str, fine: bool, expected: str) -> None:
    if not fine:
        raise ValueError(f"{name} is {getattr(config, name)!r}; expected {expected}")

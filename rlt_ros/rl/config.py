"""Settings of the agent and of its learner, with the defaults of the design."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from rlt_ros.ranges import Amount, Count, Figure, Positive, Seed, Share
from rlt_ros.types import ACTION_NAMES, GRIPPER, PROPRIO_NAMES

OPERATIONAL = ("async_training", "cuda_graphs", "device", "threads")
"""Settings that may differ between a checkpoint and the run that resumes it: they say where and when, not what,
is learned.

Of `threads` the checkpoint's count is kept all the same, so that the run goes on bit for bit.
"""
NOT_NEGATIVE = (
    "utd", "max_debt", "bc_pretrain_updates", "target_noise", "target_noise_clip", "training_noise", "rollout_noise",
    "q_weight", "bc_beta", "q_weight_start", "bc_beta_start", "ramp_updates", "ramp_after",
)  # fmt: skip
AT_LEAST_ONE = ("chunk", "critics", "actor_every", "layers", "batch")
CHOICES = {
    "algorithm": ("rlt", "sac"),
    "bootstrap_type": ("standard", "always"),
    "actor_form": ("absolute", "residual"),
    "bc_target": ("reference", "success"),
    "gate_outcomes": ("both", "one", "none"),
    "precision": ("float32", "bfloat16"),
}


@dataclass(frozen=True)
class Dims:
    """Sizes that the Stage-1 checkpoint and the robot dictate."""

    z: int  # Z, RL token
    proprio: int = len(PROPRIO_NAMES)  # P, normalised proprioception
    action: int = len(ACTION_NAMES)  # A, action space


@dataclass(frozen=True)
class AgentConfig:
    """Everything that decides what is learned. Equation numbers are those of arXiv 2604.23073."""

    algorithm: str = "rlt"  # "sac": soft actor-critic in its place, a baseline

    # Return and windows
    gamma: Share = 0.99  # discount per control step
    chunk: Positive = 10  # C, control steps per action chunk
    stride: Positive = 2  # a window starts at every stride-th control step of a phase
    bootstrap_type: str = "standard"  # "standard": an outcome ends the value, a truncation does not; "always": neither
    q_low: Figure = 0.0  # lowest reachable return: targets are clipped to [q_low, q_high]
    q_high: Figure = 1.0  # highest reachable return

    # Actor (Eqs. 4, 5)
    passthrough: tuple[int, ...] = (GRIPPER,)  # action dimensions copied from the reference: not in actor, critic, BC
    actor_form: str = "absolute"  # "absolute": the chunk itself; "residual": the reference and a bounded correction
    residual_limit: Share = 0.2  # largest correction of the residual form per number, in units of the action space
    q_weight: Amount = 1.0  # weight of the critics' mean
    bc_beta: Amount = 0.1  # weight of the squared distance, SUMMED over the chunk; mean convention = beta * C * d
    ramp_updates: Count = 0  # actor updates in which both weights go linearly from their start values here; 0: fixed
    ramp_after: Count = 0  # actor updates at the start values before that
    q_weight_start: Amount = 0.0  # q_weight where the ramp begins
    bc_beta_start: Amount = 0.1  # bc_beta where the ramp begins
    bc_target: str = "reference"  # "success": executed steps of successes and a person's instead, for behaviour cloning
    reference_dropout: Share = 0.5  # share of training rows whose reference INPUT is zeroed; never the BC target
    training_noise: Amount = 0.0  # sigma of the chunk that the critics judge in the actor update (Eq. 5); 0: its mean
    rollout_noise: Amount = 0.1  # sigma of exploration, held for noise_hold steps
    noise_hold: Positive = 5  # control steps that one exploration sample is held
    ema: Share = 0.003  # step of the averaged actor towards the actor, per actor update

    # Critic (Eq. 3)
    critics: Positive = 3  # members of the ensemble; the actor climbs their mean
    target_critics: Positive = 2  # random members whose minimum is the target (REDQ)
    target_noise: Amount = 0.1  # sigma of target smoothing, the only noise in the target (TD3)
    target_noise_clip: Amount = 0.2  # bound of that noise
    tau: Share = 0.005  # Polyak step of the target ensemble, per critic update

    # Networks and optimisation
    use_z: bool = True  # False: actor and critics see zeros in place of z_rl, an ablation
    pixels: tuple[int, ...] = ()  # channels, height, width of pictures in place of z_rl, an ablation
    use_reference: bool = True  # False: the actor sees zeros in place of the reference, an ablation; BC keeps it
    hidden: Positive = 256  # units per hidden layer
    layers: Positive = 2  # hidden layers of actor and critics
    learning_rate: Amount = 3e-4  # Adam, actor and critics
    grad_clip: Amount = 10.0  # largest gradient norm, for each network on its own
    batch: Positive = 64  # rows per update; sampling needs twice as many in the replay
    actor_every: Positive = 2  # critic updates per actor update
    actor_after: Count = 500  # critic updates before the first actor update

    # Warm start
    warmup_episodes: Count = 20  # labelled phases of the reference before anything is learned
    warmup_rows: Count = 200  # rows before anything is learned
    bc_pretrain_updates: Count = 2000  # actor updates on BC alone, between warm-up and the first critic update
    gate_rows: Count = 300  # the actor may drive only with so many rows
    gate_updates: Count = 1000  # and after so many critic updates
    gate_outcomes: str = "both"  # and after seeing success and failure ("both"), either ("one") or nothing ("none")
    gate_reference_error: Amount = 0.02  # and if, after pre-training, its mean squared error to the reference is below

    # Budget and storage
    utd: Count = 5  # critic updates earned by one new row
    max_debt: Count = 10_000  # earned updates that may wait; the rest is forgone and counted
    replay_capacity: Positive = 100_000  # rows
    sample_window: Count = 0  # only so many of the newest rows are learned from; 0: all
    human_share: Share = 0.0  # share of every batch drawn from rows with a human step; 0: no extra, plain uniform
    half_precision_z: bool = True  # z stored as float16
    async_training: bool = False  # in simulation too, the robot does not wait for the updates; a real one never does
    seed: Seed = 0  # of networks, noise, dropout and sampling
    device: str = "cpu"  # torch device of networks and batches
    cuda_graphs: bool = False  # replay updates from CUDA graphs: the same numbers up to rounding; needs a cuda device
    threads: Positive = 1  # of torch; more round differently, slower on a busy machine. A resumed run keeps its count
    precision: str = "float32"  # of the networks' multiplications in updates; weights, losses and Adam are float32

    def __post_init__(self) -> None:
        for name in NOT_NEGATIVE:
            _require(self, name, getattr(self, name) >= 0, "not negative")
        for name in AT_LEAST_ONE:
            _require(self, name, getattr(self, name) >= 1, "at least 1")
        for name, choices in CHOICES.items():
            _require(self, name, getattr(self, name) in choices, "'" + "' or '".join(choices) + "'")
        self._check_return()
        self._check_actor()
        self._check_rows()
        self._check_device()

    def _check_return(self) -> None:
        _require(self, "gamma", 0.0 < self.gamma <= 1.0, "in (0, 1]")
        _require(self, "stride", 1 <= self.stride <= self.chunk, f"in 1..chunk ({self.chunk})")
        _require(self, "q_high", self.q_high > self.q_low, f"above q_low ({self.q_low})")
        _require(self, "target_critics", 1 <= self.target_critics <= self.critics, f"in 1..critics ({self.critics})")

    def _check_actor(self) -> None:
        residual = self.actor_form == "residual"
        _require(self, "residual_limit", 0.0 < self.residual_limit <= 1.0, "in (0, 1]")
        _require(self, "reference_dropout", 0.0 <= self.reference_dropout < 1.0, "in [0, 1)")
        _require(
            self, "use_reference", self.use_reference or not residual, "true with a residual actor: it corrects it"
        )
        shown = self.reference_dropout == 0.0 or not residual
        _require(self, "reference_dropout", shown, "0 with a residual actor: it cannot copy what it is not shown")
        fixed = self.ramp_updates > 0 or self.ramp_after == 0
        _require(self, "ramp_after", fixed, "0 without ramp_updates: weights that jump undo what was learned")
        close = residual or self.bc_pretrain_updates > 0 or self.gate_reference_error == math.inf
        _require(self, "gate_reference_error", close, "inf without pre-training: nothing would bring the actor there")

    def _check_device(self) -> None:
        _require(self, "pixels", len(self.pixels) in (0, 3), "empty, or channels, height and width")
        _require(self, "cuda_graphs", not self.cuda_graphs or self.algorithm == "rlt", "false with algorithm 'sac'")
        _require(self, "cuda_graphs", self.device.startswith("cuda") or not self.cuda_graphs, "false on another device")

    def _check_rows(self) -> None:
        two = 2 * self.batch
        _require(self, "replay_capacity", self.replay_capacity >= two, f"at least 2 * batch ({self.batch})")
        enough = self.sample_window == 0 or self.sample_window >= two
        _require(self, "sample_window", enough, f"0 or at least 2 * batch ({self.batch})")
        some = self.human_share == 0.0 or 1 <= round(self.human_share * self.batch) < self.batch
        _require(self, "human_share", some, f"0, or at least one row and not all of a batch of {self.batch}")

    def policy_dims(self, dims: Dims) -> tuple[int, ...]:
        """Action dimensions that the actor decides, all but the passed-through ones. Raises ValueError without any."""
        left = tuple(i for i in range(dims.action) if i not in self.passthrough)
        if not left:
            raise ValueError(f"passthrough {self.passthrough} leaves none of {dims.action} action dimensions to learn")
        return left

    def actor_weights(self, actor_updates: int) -> tuple[float, float]:
        """Weights of Q and BC after so many actor updates: fixed, or on a line from their start values.

        A step from one proportion to another has cost most of what was learned (`method.md` C.18).
        """
        done = actor_updates - self.ramp_after
        share = min(max(done / self.ramp_updates, 0.0), 1.0) if self.ramp_updates else 1.0
        if share == 1.0:
            return self.q_weight, self.bc_beta
        return (
            self.q_weight_start + share * (self.q_weight - self.q_weight_start),
            self.bc_beta_start + share * (self.bc_beta - self.bc_beta_start),
        )

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON-ready values, in the order above."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


def _require(config: AgentConfig, name: str, fine: bool, expected: str) -> None:
    if not fine:
        raise ValueError(f"{name} is {getattr(config, name)!r}; expected {expected}")

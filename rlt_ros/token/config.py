"""Configuration of the RL token and of Stage 1; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.config import SIZES, TinyConfig

OBJECTIVES = ("sequential", "joint", "frozen")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class TokenConfig:
    """Size of `token.model.RLToken`, what it sees and how its decoder is trained."""

    dim: int = 64  # Z, length of z_rl
    width: int = 64  # of encoder and decoder; tokens are projected to it
    heads: int = 4  # attention heads
    layers: int = 1  # of the encoder and of the decoder
    mlp_ratio: int = 2  # hidden width of a layer's MLP over the width
    narrow: int = 32  # values of each place in the linear readout; 0: no readout, attention alone as in the paper
    context_dropout: float = 0.5  # probability that a sample's decoder sees no earlier token, only z_rl
    image_only: bool = False  # RLinf's rlt_image_only: leave state tokens out too
    use_mask: bool = True  # RLinf's rlt_use_mask: padding is left out of encoder, context and loss
    prefix_length: int = 0  # RLinf's rlt_prefix_seq_len, most tokens that are taken; 0: as many as the VLA has
    normalise: bool = False  # give every channel of the tokens mean 0 and deviation 1 first

    def __post_init__(self) -> None:
        if not 0.0 <= self.context_dropout <= 1.0:
            raise ValueError(f"context_dropout is {self.context_dropout}; expected 0 to 1")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")
        for name, least in {"dim": 1, "layers": 1, "narrow": 0, "prefix_length": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least {least}")


@dataclass(frozen=True)
class FitConfig:
    """One training run: AdamW with linear warm-up and cosine decay to zero."""

    steps: int  # gradient steps; 0: none, the weights stay as they are
    batch: int  # frames a step, of all processes together
    rate: float = 1e-3  # peak learning rate
    weight_decay: float = 1e-2
    warmup: float = 0.05  # fraction of the steps
    clip: float = 1.0  # largest norm of the gradient
    accumulate: int = 1  # parts into which a batch is cut, one after the other, where it does not fit into memory

    def __post_init__(self) -> None:
        if self.steps < 0 or self.accumulate < 1 or self.batch < self.accumulate:
            raise ValueError(
                f"steps {self.steps}, batch {self.batch}, accumulate {self.accumulate}; "
                "expected steps >= 0 and batch >= accumulate >= 1"
            )


@dataclass(frozen=True)
class DatasetConfig:
    """A LeRobot dataset of demonstrations."""

    path: str = ""  # its directory; empty: the demonstrations of `task` are simulated
    mapping: str = ""  # YAML that says which of its columns are what; empty: the dataset is one of ours


@dataclass(frozen=True)
class Stage1Config:
    """Everything that decides what Stage 1 learns: demonstrations, VLA, token."""

    task: str = DEFAULT_TASK  # what is demonstrated; simulated: world and demonstrator, a name of `sim.tasks.TASKS`
    demonstrations: int = 60  # episodes of the biased expert, if simulated
    instruction: str = "insert the peg"  # prompt of every frame, the one that a dataset was recorded with
    chunk: int = 10  # C, steps that the agent will choose at once
    flow_times: int = 4  # noise levels drawn for each frame of a batch, by a tiny VLA
    brightness: float = 0.1  # largest relative change of a picture's brightness in training
    shift: int = 3  # pixels, largest shift of a picture along each axis in training
    vla: TinyConfig = field(default_factory=TinyConfig)  # of a new VLA
    token: TokenConfig = field(default_factory=TokenConfig)
    fit_vla: FitConfig = field(default_factory=lambda: FitConfig(steps=1300, batch=32, rate=2e-3))
    fit_token: FitConfig = field(default_factory=lambda: FitConfig(steps=500, batch=64))
    dataset: DatasetConfig = field(default_factory=DatasetConfig)
    vla_from: str = ""  # VLA to start from: a Stage-1 checkpoint or the YAML of a backend; empty: a new one of `vla`
    objective: str = "sequential"  # the VLA first, then the token; joint: both in one pass; frozen: the token only
    alpha: float = 1.0  # RLinf's rlt_alpha, weight of vla_loss beside rlt_loss in the joint objective
    state_indices: tuple[int, ...] = ()  # entries of the state that VLA and agent get; empty: all
    validation: float = 0.0  # share of the episodes that no training sees
    embedding_dtype: str = "float32"  # of stored token embeddings: float32, bfloat16 or float16

    def __post_init__(self) -> None:
        _one_of("objective", self.objective, OBJECTIVES)
        _one_of("embedding_dtype", self.embedding_dtype, PRECISIONS)
        if self.objective == "frozen" and not self.vla_from:
            raise ValueError("objective is frozen and vla_from is empty; a VLA that is not trained comes from there")
        if self.dataset.mapping and not self.dataset.path:
            raise ValueError(f"dataset.mapping is {self.dataset.mapping!r} and dataset.path is empty")
        if not 0.0 <= self.validation <= 0.5:
            raise ValueError(f"validation is {self.validation}; expected 0 to 0.5")
        names = self.proprio_names
        if len(set(names)) != len(names):
            raise ValueError(f"state_indices {self.state_indices}: an entry is there twice")

    @property
    def proprio_names(self) -> tuple[str, ...]:
        """Names of the state's entries that VLA and agent get, in their order."""
        for index in self.state_indices:
            if not 0 <= index < len(PROPRIO_NAMES):
                raise ValueError(f"state_indices: {index}; the state has entries 0 to {len(PROPRIO_NAMES) - 1}")
        return tuple(PROPRIO_NAMES[index] for index in self.state_indices) or PROPRIO_NAMES

    @property
    def untrained(self) -> Stage1Config:
        """The same with a random token encoder, standardised only: what a trained one is compared with."""
        return replace(self, fit_token=replace(self.fit_token, steps=0))


@dataclass(frozen=True)
class RunConfig:
    """How a run goes about it, without any effect on what is learned."""

    save_every: int = 200  # steps between two snapshots; 0: none
    keep: int = 2  # newest snapshots of each stage that stay
    log_every: int = 10  # steps between two points of a curve
    validate_every: int = 100  # steps between two looks at the validation episodes
    tensorboard: bool = True  # write curves
    device: str = "cpu"  # of torch, such as cuda; with `accelerate launch` that decides
    threads: int = 1  # of torch on the processor; 0: as many as torch likes. They round differently
    embeddings: str = ""  # directory that keeps token embeddings; empty: in memory
    frames: str = ""  # directory for pictures that do not fit into memory, of this run alone; empty: in memory

    def __post_init__(self) -> None:
        for name, least in {"save_every": 0, "keep": 1, "log_every": 1, "validate_every": 1, "threads": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least {least}")


@dataclass(frozen=True)
class Stage1File:
    """The content of a configuration file of `rlt stage1`."""

    output: str  # new directory of the checkpoint; the run's own files lie beside it, in OUTPUT.run
    seed: int = 0  # of demonstrations, weights and training
    robot_config: str = ""  # robot config (YAML); empty: the FR3's
    learn: Stage1Config = field(default_factory=Stage1Config)
    run: RunConfig = field(default_factory=RunConfig)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; known are {', '.join(known)}")


PRESETS = {
    "demo": Stage1Config(),
    "smoke": Stage1Config(
        demonstrations=12,
        fit_vla=FitConfig(steps=100, batch=16),
        fit_token=FitConfig(steps=100, batch=32),
    ),
    "large": Stage1Config(
        demonstrations=120,
        shift=4,
        vla=SIZES["large"],
        fit_vla=FitConfig(steps=3000, batch=32, rate=1e-3),
        fit_token=FitConfig(steps=1000, batch=64),
    ),
}
"""`demo`: what `make demo` trains, about three minutes on one core. `smoke`: shows in seconds that everything runs.
`large`: a VLA of 3.4 M parameters at 96 pixels, for those with an hour.
"""

HARDER = {
    ("demo", "yaw_mark"): Stage1Config(demonstrations=90, fit_vla=FitConfig(steps=1500, batch=32, rate=2e-3)),
    ("demo", "connector"): Stage1Config(demonstrations=150, fit_vla=FitConfig(steps=2500, batch=32, rate=2e-3)),
}
"""By preset and task, where a task asks for more than `PRESETS` has: a direction besides the place of the hole, or a
turn, with which the wrist camera turns.
"""


def stage1_config(preset: str, task: str = DEFAULT_TASK) -> Stage1Config:
    """A preset for a simulated task. Raises KeyError on an unknown preset, ValueError on an unknown task."""
    find_task(task)
    return replace(HARDER.get((preset, task), PRESETS[preset]), task=task)

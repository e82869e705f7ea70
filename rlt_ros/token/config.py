"""Configuration of the RL token and of Stage 1; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.vla.config import SIZES, TinyConfig


@dataclass(frozen=True)
class TokenConfig:
    """Size of `token.model.RLToken` and how its decoder is trained."""

    dim: int = 64  # Z, length of z_rl
    width: int = 64  # of encoder and decoder; tokens are projected to it
    heads: int = 4  # attention heads
    layers: int = 1  # of the encoder and of the decoder
    mlp_ratio: int = 2  # hidden width of a layer's MLP over the width
    narrow: int = 32  # values of each place in the linear readout
    context_dropout: float = 0.5  # probability that a sample's decoder sees no earlier token, only z_rl

    def __post_init__(self) -> None:
        if not 0.0 <= self.context_dropout <= 1.0:
            raise ValueError(f"context_dropout is {self.context_dropout}; expected 0 to 1")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")


@dataclass(frozen=True)
class FitConfig:
    """One training run: AdamW with linear warm-up and cosine decay to zero."""

    steps: int  # gradient steps
    batch: int  # frames a step
    rate: float = 1e-3  # peak learning rate
    weight_decay: float = 1e-2
    warmup: float = 0.05  # fraction of the steps
    clip: float = 1.0  # largest norm of the gradient


@dataclass(frozen=True)
class Stage1Config:
    """Demonstrations, VLA and token of a simulated task."""

    task: str = DEFAULT_TASK  # world and demonstrator, a name of `sim.tasks.TASKS`
    demonstrations: int = 60  # episodes of the biased expert
    instruction: str = "insert the peg"  # prompt of every frame
    chunk: int = 10  # C, steps that the agent will choose at once
    flow_times: int = 4  # noise levels drawn for each frame of a batch
    brightness: float = 0.1  # largest relative change of a picture's brightness in training
    shift: int = 3  # pixels, largest shift of a picture along each axis in training
    vla: TinyConfig = field(default_factory=TinyConfig)
    token: TokenConfig = field(default_factory=TokenConfig)
    fit_vla: FitConfig = field(default_factory=lambda: FitConfig(steps=1300, batch=32, rate=2e-3))
    fit_token: FitConfig = field(default_factory=lambda: FitConfig(steps=500, batch=64))


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
}
"""By preset and task, where a task asks for more than `PRESETS` has: here a direction besides the place of the hole."""


def stage1_config(preset: str, task: str = DEFAULT_TASK) -> Stage1Config:
    """A preset for a simulated task. Raises KeyError on an unknown preset, ValueError on an unknown task."""
    find_task(task)
    return replace(HARDER.get((preset, task), PRESETS[preset]), task=task)

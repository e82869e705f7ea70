"""How a policy explores, which rows become of it and what of a run is kept: settings of the nodes and of `rlt fast`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rlt_ros.ranges import MANY, Count, Positive, Range, Share

STORE_FROM = ("critical", "approach")


@dataclass(frozen=True)
class LoopConfig:
    """The learner's `rollout_noise`, `noise_hold` and `stride` say the same; `rlt fast` sets both."""

    sigma: Share = 0.1  # held exploration noise, share of the action range
    noise_hold: Positive = 5  # control steps for which a noise sample is held
    stride: Positive = 2  # control steps between windows
    store_from: str = "critical"  # first step of an episode that windows cover: of the critical phase, or "approach"
    short_windows: bool = True  # keep windows shorter than a chunk; false: whole ones only, aligned to the phase's end
    outcome_seen: bool = False  # windows name the observation after the outcome: needed if bootstrap_type is "always"

    def __post_init__(self) -> None:
        if self.sigma < 0.0 or self.noise_hold < 1 or self.stride < 1:
            found = f"sigma {self.sigma}, noise_hold {self.noise_hold}, stride {self.stride}"
            raise ValueError(f"{found}; expected sigma not negative, noise_hold and stride at least 1")
        if self.store_from not in STORE_FROM:
            raise ValueError(f"store_from is {self.store_from!r}; expected one of {', '.join(STORE_FROM)}")


@dataclass(frozen=True)
class RecordConfig:
    """Parameters of the learner node that are none of the agent's: where it begins, what it writes and when."""

    save_every: Annotated[int, Range(-1, MANY)] = 2000  # critic updates between checkpoints; 0 or less: only at the end
    keep: Count = 3  # older checkpoints that stay beside the newest; 0: all of them
    init_weights: str = ""  # policy file of another run to start from; empty: none

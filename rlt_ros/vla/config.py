"""Configuration of the tiny VLA; needs neither torch nor numpy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TinyConfig:
    """Size of `vla.tiny.TinyVLA`. The defaults train in two minutes on one core."""

    cameras: tuple[str, ...] = ("front", "wrist")  # names, in the order of their tokens
    image_size: int = 64  # pixels, square; a multiple of 16, every 16 pixels give one token a side
    proprio_dim: int = 19  # length of the state vector
    action_dim: int = 7  # length of an action
    horizon: int = 20  # steps of the reference chunk
    steps_per_token: int = 4  # action steps that share one token of the flow head
    instruction_slots: int = 4  # words that an instruction may have; fewer are padded and masked
    word_buckets: int = 64  # rows of the word table; a word's row is a hash of it
    width: int = 96  # of every token
    heads: int = 4  # attention heads
    layers: int = 3  # of the prefix
    flow_layers: int = 2  # of the flow head, which runs flow_steps times
    mlp_ratio: int = 2  # hidden width of a layer's MLP over the token width
    readout: int = 16  # values of each prefix token in the flow head's linear readout
    flow_steps: int = 4  # Euler steps from noise to actions

    def __post_init__(self) -> None:
        if self.image_size % 16:
            raise ValueError(f"image_size is {self.image_size}; expected a multiple of 16")
        if self.horizon % self.steps_per_token:
            raise ValueError(f"horizon {self.horizon} is no multiple of steps_per_token {self.steps_per_token}")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is no multiple of heads {self.heads}")

    @property
    def tokens(self) -> int:
        """M, all tokens of the prefix: images, instruction, state."""
        return len(self.cameras) * self.tokens_per_camera + self.instruction_slots + 1

    @property
    def tokens_per_camera(self) -> int:
        """Image tokens of one camera."""
        return (self.image_size // 16) ** 2


SIZES = {
    "demo": TinyConfig(),
    "large": TinyConfig(image_size=96, width=192, heads=6, layers=4, flow_layers=3, mlp_ratio=3),
}
"""By name. `demo`: 0.6 M parameters, 37 tokens. `large`: 3.4 M parameters, 77 tokens, eight times the time a step."""

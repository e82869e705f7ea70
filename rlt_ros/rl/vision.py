"""A small image encoder that learns with the agent: what the RL token is compared with, not part of the method.

State (B, S) = [pictures, flattened, in [-1, 1]; proprio (P)] -> (B, FEATURES + P).
"""

from __future__ import annotations

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.tensor import torch

Tensor = torch.Tensor
nn = torch.nn

CHANNELS = (16, 32, 32)
"""Of three convolutions 3 x 3, each of which halves height and width."""
FEATURES = 64


class PixelEncoder(nn.Module):
    """Convolutions, a linear layer, layer norm and tanh, as agents that learn from pixels have them (DrQ, SERL)."""

    def __init__(self, pixels: tuple[int, int, int], generator: torch.Generator) -> None:
        """pixels: channels of all cameras, height, width."""
        super().__init__()
        self.pixels = pixels
        layers: list[nn.Module] = []
        for before, after in zip((pixels[0], *CHANNELS), CHANNELS):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
        height, width = (_halved(side, len(CHANNELS)) for side in pixels[1:])
        flat = CHANNELS[-1] * height * width
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, FEATURES), nn.LayerNorm(FEATURES), nn.Tanh())
        self._draw(generator)

    def forward(self, state: Tensor) -> Tensor:
        """(B, S) to (B, FEATURES + P)."""
        channels, height, width = self.pixels
        size = channels * height * width
        seen = self.layers(state[:, :size].reshape(-1, channels, height, width))
        return torch.cat([seen, state[:, size:]], dim=1)

    @torch.no_grad()
    def _draw(self, generator: torch.Generator) -> None:
        # The same bounds as torch's own, but from the agent's generator.
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                bound = layer.weight[0].numel() ** -0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)


def eyes(config: AgentConfig, dims: Dims, generator: torch.Generator) -> tuple[nn.Module, int]:
    """What a network puts before its first layer, and the width of what comes out. Raises ValueError where the
    pictures are not of the size of the features."""
    if not config.pixels:
        return nn.Identity(), dims.z + dims.proprio
    channels, height, width = config.pixels
    if channels * height * width != dims.z:
        raise ValueError(f"pixels {config.pixels} make {channels * height * width} values; features have {dims.z}")
    return PixelEncoder((channels, height, width), generator), FEATURES + dims.proprio


def _halved(side: int, times: int) -> int:
    for _ in range(times):
        side = (side + 1) // 2
    return side

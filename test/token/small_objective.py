"""A small thing to train: a line through points, with noise from the training's generator and dropout from torch's."""

import torch
from torch import nn

from rlt_ros.token.config import FitConfig
from rlt_ros.token.objective import Objective

FIT = FitConfig(steps=40, batch=8, rate=1e-2)


class Line(Objective):
    stage = "line"

    def __init__(self, frames=50, fit=FIT, noise=0.1, dropout=0.2):
        super().__init__()
        draw = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(frames, 4, generator=draw)
        self.targets = self.inputs @ torch.tensor([1.0, -2.0, 0.5, 3.0])
        torch.manual_seed(0)
        self.line = nn.Sequential(nn.Dropout(dropout), nn.Linear(4, 1))
        self.frozen = nn.Linear(2, 2).requires_grad_(False)
        self.fit, self.noise, self.seen, self.drawn = fit, noise, [], []

    def parts(self):
        return [(self.line, self.fit)]

    def forward(self, rows, draw):
        self.seen.append(rows)
        noise = self.noise * torch.randn(len(rows), generator=draw)
        self.drawn.append(noise.tolist())
        loss = (self.line[1](self.line[0](self.inputs[rows]))[:, 0] + noise - self.targets[rows]).square().mean()
        return {"loss": loss, "twice": 2 * loss}


def weights(objective):
    return {name: tensor.clone() for name, tensor in objective.state_dict().items()}

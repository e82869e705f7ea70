"""VLA and RL token out of one pass: rlt_loss + alpha * vla_loss (RLT paper, A.2; RLinf's Stage 1)."""

from __future__ import annotations

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.config import FitConfig, Stage1Config
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.fit import fit
from rlt_ros.token.model import RLToken
from rlt_ros.token.objective import Objective
from rlt_ros.token.run import Run
from rlt_ros.token.train_vla import VLAObjective
from rlt_ros.vla.contract import TrainableVLA

MEASURED = 64
"""Frames, spread evenly, that the channels' mean and deviation are taken from before the first step."""


class JointObjective(Objective):
    """`total_loss`; the token's part of it does not reach the VLA."""

    stage = "joint"

    def __init__(self, vla: TrainableVLA, token: RLToken, corpus: Corpus, config: Stage1Config) -> None:
        super().__init__()
        self.vla_objective, self.token, self._config = VLAObjective(vla, corpus, config), token, config
        self.partial = self.vla_objective.partial

    def parts(self) -> list[tuple[nn.Module, FitConfig]]:
        """VLA and token; each has its own rate, and its gradient is clipped by itself."""
        return [(self.vla_objective.vla, self._config.fit_vla), (self.token, self._config.fit_token)]

    def forward(self, rows: Tensor, draw: torch.Generator) -> dict[str, Tensor]:
        """`total_loss` of frames and what it is made of."""
        seen = self.vla_objective.passed(rows, draw)
        token = self.token.loss(seen.tokens.float(), seen.mask, seen.kinds, draw)
        total = token.rlt_loss + self._config.alpha * seen.vla_loss
        return {
            "total_loss": total,
            "rlt_loss": token.rlt_loss,
            "vla_loss": seen.vla_loss,
            "rlt_loss_per_value": token.per_value,
        }


def train_joint(
    vla: TrainableVLA, token: RLToken, corpus: Corpus, config: Stage1Config, seed: int, run: Run | None = None
) -> dict[str, float]:
    """Train both in place, for the steps and batches of `fit_vla`. Returns the losses of the last steps."""
    vla.standardise(torch.from_numpy(corpus.frames.targets))
    objective = JointObjective(vla, token, corpus, config)
    _measure(objective, corpus)
    return fit(objective, config.fit_vla, corpus.training, seed, run, corpus.validation)


@torch.no_grad()
def _measure(objective: JointObjective, corpus: Corpus) -> None:
    if objective.token.config.normalise:
        some = torch.linspace(0, len(corpus) - 1, min(MEASURED, len(corpus))).long()
        seen = objective.eval().vla_objective.passed(some, torch.Generator().manual_seed(0))
        objective.token.measure(seen.tokens.float().cpu(), seen.mask.cpu(), seen.kinds)

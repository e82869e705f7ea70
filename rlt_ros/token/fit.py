"""The loop that VLA, token and both together share."""

from __future__ import annotations

from rlt_ros.tensor import Tensor, torch
from rlt_ros.token.config import FitConfig
from rlt_ros.token.objective import Objective
from rlt_ros.token.run import Run
from rlt_ros.token.training import Mean, Training

VALIDATION_SEED = 20_260_424
"""Of the noise under which validation frames are looked at: the same each time, so that only the weights differ."""


def fit(
    objective: Objective,
    config: FitConfig,
    rows: Tensor,
    seed: int,
    run: Run | None = None,
    validation: Tensor | None = None,
) -> dict[str, float]:
    """Train in place; the same seed gives the same weights, in one go or with interruptions.

    rows: int64, frames to draw from. validation: frames to look at now and then. Returns the mean of each loss over the
    last tenth of the steps, and of the validation frames at the end as `val_<name>`. Raises ArithmeticError when the
    loss is not finite; snapshots of the run stay.
    """
    run = run or Run()
    look = validation is not None and len(validation) > 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + run.processes.rank)
        training = Training(objective, config, rows, seed, run.processes)
        following = run.follow(training)
        objective.train()
        while not training.done:
            following.after(*training.advance())
            if look and (training.step % run.config.validate_every == 0 or training.done):
                following.validated(validate(objective, validation, config.batch))
        objective.eval()
    final = validate(objective, validation, config.batch) if look else {}
    return training.mean.values() | {f"val_{name}": value for name, value in final.items()}


@torch.no_grad()
def validate(objective: Objective, rows: Tensor, batch: int) -> dict[str, float]:
    """Mean losses on frames, in eval mode, without an effect on anything else; the mode is as before afterwards."""
    before, draw, total = objective.training, torch.Generator().manual_seed(VALIDATION_SEED), Mean()
    objective.eval()
    with torch.random.fork_rng(devices=[]):
        for part in rows.split(batch):
            losses = objective(part, draw)
            total.add({name: float(loss) for name, loss in losses.items()}, weight=len(part))
    objective.train(before)
    return total.values()

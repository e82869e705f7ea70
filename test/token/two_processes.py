"""What each process of `accelerate launch` does in test_accelerate.py: train a line, keep its weights."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from small_objective import FIT, Line, weights

from rlt_ros.token.config import RunConfig
from rlt_ros.token.fit import fit
from rlt_ros.token.processes import current
from rlt_ros.token.run import Run


class Stopped(Exception):
    pass


def train(folder, processes, name, stop=None, **objective):
    run = Run(folder / name, RunConfig(save_every=10, tensorboard=False), {}, processes)
    line, forward = Line(**objective), None
    forward = line.forward

    def limited(rows, draw):
        if stop is not None and len(line.seen) == stop:
            raise Stopped
        return forward(rows, draw)

    line.forward = limited
    try:
        metrics = fit(line, FIT, torch.arange(50), 3, run)
    except Stopped:
        return
    save_file(weights(line), folder / f"{name}-rank{processes.rank}.safetensors")
    seen = [rows.tolist() for rows in line.seen]
    told = {"seen": seen, "drawn": line.drawn, "metrics": metrics}
    (folder / f"{name}-rank{processes.rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    folder, processes = Path(sys.argv[1]), current()
    torch.set_num_threads(1)
    train(folder, processes, "quiet", noise=0.0, dropout=0.0)
    train(folder, processes, "whole")
    train(folder, processes, "resumed", stop=25)
    processes.wait()
    train(folder, processes, "resumed")

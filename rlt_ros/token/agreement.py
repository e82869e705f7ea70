"""Whether a VLA's reference does what the demonstrations did: another sign, unit, scale or frame shows here.

The actor gets the reference and starts from it, and a frozen VLA of somebody else's was trained on numbers that nobody
here has seen (field reports A09, A26, D02).
"""

from __future__ import annotations

import numpy as np

from rlt_ros.tensor import torch
from rlt_ros.token.corpus import Corpus
from rlt_ros.types import GRIPPER
from rlt_ros.vla.contract import VLA

FRAMES = 64
"""Spread evenly over the validation episodes, or over all where there are none."""
DOUBTFUL = 0.9
"""`reference_error` from which a reference is doubted. The smallest preset, after 100 steps of training, has 0.66;
deltas in metres, too small by far, have 0.99."""


def agreement(vla: VLA, corpus: Corpus, instruction: str, chunk: int, hysteresis: float) -> dict[str, float]:
    """Figures over whole chunks of `chunk` steps; empty where no frame has one ahead.

    reference_error: distance between where reference and demonstration lead, over how far the latter leads; standing
    still has 1. reference_gripper: share of the steps in which the reference asks the gripper for the same.
    hysteresis: of the gripper's action, below which it asks for nothing.
    """
    rows = _rows(corpus, chunk)
    if not len(rows):
        return {}
    out = vla.infer(corpus.batch(rows, instruction), list(range(len(rows))))
    asked = out.reference.float().cpu().numpy()[:, :chunk].clip(-1.0, 1.0)
    done = corpus.frames.targets[rows, :chunk]
    leads, led = (values[..., :3].sum(axis=1) for values in (asked, done))
    clear = np.abs(done[..., GRIPPER]) > hysteresis
    same = (np.abs(asked[..., GRIPPER]) > hysteresis) & (np.sign(asked[..., GRIPPER]) == np.sign(done[..., GRIPPER]))
    return {
        "reference_error": float(np.linalg.norm(leads - led) / max(np.linalg.norm(led), 1e-9)),
        "reference_gripper": float(same[clear].mean()) if clear.any() else float("nan"),
    }


def doubts(figures: dict[str, float]) -> list[str]:
    """What the figures say against using the reference, one sentence each."""
    found = []
    if figures.get("reference_error", 0.0) >= DOUBTFUL:
        error = figures["reference_error"]
        found.append(
            f"warning: the reference is {error:.2f} times as far from the demonstrations as standing still; "
            "does the VLA have another action space, scale or state?"
        )
    if figures.get("reference_gripper", 1.0) < 0.5:
        share = figures["reference_gripper"]
        found.append(
            f"warning: the reference's gripper agrees with the demonstrations in {share:.0%} of the steps; "
            "another sign or unit?"
        )
    return found


def _rows(corpus: Corpus, chunk: int) -> np.ndarray:
    rows = (corpus.validation if len(corpus.validation) else corpus.training).numpy()
    whole = rows[corpus.frames.valid[rows, :chunk].all(axis=1)]
    return whole[torch.linspace(0, len(whole) - 1, min(FRAMES, len(whole))).long().numpy()] if len(whole) else whole

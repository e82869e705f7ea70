"""Does the reference do what was demonstrated? (field reports A09, A26, D02)"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from stage1_example import CONFIG, episodes_of, small_stage1

from rlt_ros.robot.config import load_robot
from rlt_ros.token.agreement import DOUBTFUL, agreement, doubts
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.stage1 import train
from rlt_ros.types import GRIPPER
from rlt_ros.vla.contract import VLAOutput


@pytest.fixture(scope="module")
def corpus():
    episodes = episodes_of(5, length=30)
    moved = [replace(e, actions=np.concatenate([e.actions[:, :6], e.actions[:, 6:] * 0 - 1], axis=1)) for e in episodes]
    return Corpus.of(moved, CONFIG, small_stage1().vla, seed=0)


class Told:
    """A VLA of somebody else's: it knows the demonstrations, and says them in numbers of its own."""

    def __init__(self, corpus, change):
        self._corpus, self._change = corpus, change

    def infer(self, batch, seeds):
        known = {row.tobytes(): i for i, row in enumerate(self._corpus.state)}
        rows = [known[row.tobytes()] for row in batch.state]
        actions = torch.from_numpy(self._corpus.frames.targets[rows].copy())
        tokens, mask = torch.zeros(len(rows), 1, 1), torch.ones(len(rows), 1, dtype=torch.bool)
        return VLAOutput(tokens, mask, (), self._change(actions))


def metres(actions):
    return actions * torch.tensor([0.005] * 3 + [0.05] * 3 + [1.0])


def turned(actions):
    return actions[..., [1, 0, 2, 3, 4, 5, 6]] * torch.tensor([1.0, -1, 1, 1, 1, 1, 1])


def zero_is_closed(actions):
    changed = actions.clone()
    changed[..., GRIPPER] = (changed[..., GRIPPER] + 1) / 2
    return changed


def closed_is_one(actions):
    changed = actions.clone()
    changed[..., GRIPPER] *= -1
    return changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a, []),
        (lambda a: -a, ["standing still", "another sign or unit?"]),
        (turned, ["standing still"]),
        (metres, ["standing still"]),
        (zero_is_closed, ["agrees with the demonstrations in 0% of the steps"]),
        (closed_is_one, ["agrees with the demonstrations in 0% of the steps"]),
    ],
)
def test_another_sign_unit_or_frame_is_told(corpus, change, said):
    found = agreement(Told(corpus, change), corpus, CONFIG.instruction, CONFIG.chunk, 0.3)
    lines = doubts(found)
    assert len(lines) == len(said) and all(part in line for part, line in zip(said, lines))


def test_stage_1_says_it_and_keeps_the_figures(capsys):
    config = replace(CONFIG, fit_vla=replace(CONFIG.fit_vla, steps=2), fit_token=replace(CONFIG.fit_token, steps=2))
    _, metrics = train(config, load_robot(), episodes_of(4), seed=0)
    assert metrics["reference_error"] > 0.0
    assert ("standing still" in capsys.readouterr().out) == (metrics["reference_error"] >= DOUBTFUL)


def test_without_a_whole_chunk_ahead_nothing_is_said(corpus):
    short = Corpus.of(episodes_of(3, length=4), CONFIG, small_stage1().vla, seed=0)
    assert agreement(Told(short, lambda a: a), short, CONFIG.instruction, CONFIG.chunk, 0.3) == {}

"""How well z_rl tells where the mark of `yaw_mark` points. Run: python docs/mark_probe.py CHECKPOINT [EPISODES]"""

from __future__ import annotations

import sys

import numpy as np
from rlt_ros.data.demos import Demonstration
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.episode import draw
from rlt_ros.sim.tasks import find_task
from rlt_ros.tensor import torch
from rlt_ros.token.checkpoint import Stage1, load_stage1
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.demonstrate import demonstrations
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.token.model import RLToken
from rlt_ros.token.probe import probe
from rlt_ros.types import Features, Observation

SEED, EVERY = 4711, 5
"""Of new episodes, and every how many control steps a frame is taken."""


def main() -> None:
    """Prints the error of a linear readout of the direction's cosine and sine; episodes are held out in turn."""
    stage1, count = load_stage1(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
    torch.manual_seed(0)
    untrained = RLToken(stage1.token.config, stage1.vla.width, stage1.vla.kinds).eval()
    episodes = list(demonstrations(Stage1Config(task=stage1.contract.task, demonstrations=count), load_robot(), SEED))
    groups = np.concatenate([np.full(len(e.actions[::EVERY]), e.id) for e in episodes])
    compass = directions(stage1.contract.task, count)[groups]
    seen = features(stage1, episodes)
    blank = features(Stage1(stage1.contract, stage1.norm, stage1.vla, untrained), episodes)
    for name, values in {
        "z": [f.z for f in seen],
        "z of an untrained token": [f.z for f in blank],
        "proprioception": [f.proprio for f in seen],
        "nothing": [np.zeros(1)] * len(seen),
    }.items():
        error = probe(np.stack(values), compass, groups, near=np.inf) / 1e3  # the probe speaks of metres
        print(f"{name}: root mean square error {error:.2f} of cosine and sine")


def directions(task: str, count: int) -> np.ndarray:
    """Cosine and sine (N, 2) of the mark's direction in the episodes that `demonstrations` makes."""
    sim, upright = find_task(task).sim, load_robot().reference
    seeds = np.random.default_rng(SEED).integers(2**31, size=count)
    angles = np.array([draw(sim, upright, int(seed)).mark for seed in seeds])
    return np.column_stack([np.cos(angles), np.sin(angles)])


def features(stage1: Stage1, episodes: list[Demonstration]) -> list[Features]:
    """Features of the frames that are taken."""
    extractor, found = FeatureExtractor(stage1, seed=0, threads=1), []
    for episode in episodes:
        for step in range(0, len(episode.actions), EVERY):
            images = {name: pictures[step] for name, pictures in episode.images.items()}
            number = 1000 * (episode.id + 1) + step
            observation = Observation(number, 0, episode.id, step, images, episode.proprio[step])
            found += extractor.features([observation])
    return found


if __name__ == "__main__":
    main()

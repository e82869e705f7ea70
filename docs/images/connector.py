"""Draws connector.png: the plug before its socket, on the one rim and on the other. Run: python docs/images/connector.py"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.expert import Demonstrator
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import Step, rollout
from rlt_ros.sim.tasks import find_task

SCENE, SIZE = 4, 240


def main() -> None:
    """Above what the front camera sees, below what the wrist camera sees at the same moment."""
    sim = find_task("connector").sim
    world = PegInsertion(replace(sim, sensors=replace(sim.sensors, pixel_noise=0.0)), load_robot())
    left, right = (missed(world, side) for side in (-1.0, 1.0))
    columns = [np.vstack([large(step.images[camera]) for camera in ("front", "wrist")]) for step in (
        left[0], left[-1], right[-1],
    )]  # fmt: skip
    cv2.imwrite(str(Path(__file__).with_name("connector.png")), np.hstack(columns)[:, :, ::-1])


def missed(world: PegInsertion, side: float) -> list[Step]:
    """An episode in which the demonstrator errs to one side, and by nothing else."""
    errs = replace(find_task("connector").demonstrator, episode_error=0.0, chunk_error=0.0, noise=0.0)
    for seed in range(100):
        person = Demonstrator(world.robot, errs, seed)
        steps = list(rollout(world, person, SCENE, max_steps=70, images=True))
        if np.sign(person.side) == side:
            return steps
    raise RuntimeError("no such episode")


def large(picture: np.ndarray) -> np.ndarray:
    """A camera's picture, each pixel as a square."""
    return cv2.resize(picture, (SIZE, SIZE), interpolation=cv2.INTER_NEAREST)


if __name__ == "__main__":
    main()

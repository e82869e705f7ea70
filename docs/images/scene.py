"""Draws scene.png: the simulated arm, and what its two cameras see. Run: python docs/images/scene.py"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.cameras import Photographer
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.peg import PegInsertion

SEED, STEPS, HEIGHT = 3, 6, 480


def main() -> None:
    """A few steps of the expert, then three pictures side by side."""
    robot = load_robot()
    world, expert = PegInsertion(SimConfig(), robot), Expert(robot)
    world.reset(SEED)
    target = world.pose
    for _ in range(STEPS):
        target = robot.action_space.target(target, expert.action(world.truth(), world.pose, target))
        world.command(target)
        world.step()
    overview = Photographer(world.model, 640, HEIGHT, fine=True).picture(world.data, "overview")
    half = HEIGHT // 2
    views = [cv2.resize(view, (half, half), interpolation=cv2.INTER_NEAREST) for view in world.render().values()]
    picture = np.hstack([overview, np.vstack(views)])
    cv2.imwrite(str(Path(__file__).with_name("scene.png")), picture[:, :, ::-1])


if __name__ == "__main__":
    main()

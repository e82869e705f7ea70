"""Record the samples with LeRobot itself: `python record.py ROOT video|image`; the version is that of the package."""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import content
from lerobot.datasets.lerobot_dataset import CODEBASE_VERSION, LeRobotDataset


def record(root, camera):
    features = content.features(camera)
    dataset = LeRobotDataset.create("some/one", content.FPS, features, root, "arm", use_videos=camera == "video")
    for episode, length in enumerate(content.LENGTHS):
        for step in range(length):
            add(dataset, content.frame(episode, step), content.task(episode))
        dataset.save_episode()
    if hasattr(dataset, "finalize"):
        dataset.finalize()


def add(dataset, frame, task):
    if CODEBASE_VERSION == "v2.1":
        dataset.add_frame(frame, task=task)
    else:
        dataset.add_frame(frame | {"task": task})


if __name__ == "__main__":
    record(*sys.argv[1:])

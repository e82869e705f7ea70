"""What the official `lerobot` package makes of a dataset: run by the Python that RLT_LEROBOT_PYTHON names.

`python official.py dump ROOT OUT`: every frame as LeRobot's loader gives it, into an .npz file.
`python official.py append ROOT`: one more episode, written by LeRobot's own writer.
`python official.py convert ROOT`: LeRobot's own conversion from v2.1 to v3.0, in place.
"""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def dump(root, out):
    dataset = LeRobotDataset("some/one", root, video_backend="pyav")
    frames = [{key: plain(value) for key, value in dataset[index].items()} for index in range(len(dataset))]
    arrays = {key: np.stack([frame[key] for frame in frames]) for key in frames[0]}
    stats = {f"stats/{key}/{n}": v for key, part in dataset.meta.stats.items() for n, v in part.items()}
    counts = {"episodes": dataset.num_episodes, "fps": dataset.fps, "robot_type": dataset.meta.robot_type}
    np.savez(out, **arrays, **stats, **counts)


def plain(value):
    """Pictures come as float32 (3, h, w) in [0, 1]; back to uint8 (h, w, 3)."""
    if not isinstance(value, torch.Tensor):
        return np.array(value)
    if value.ndim == 3:
        value = (value * 255).round().to(torch.uint8).permute(1, 2, 0)
    return value.numpy()


def append(root):
    dataset = LeRobotDataset.resume("some/one", root)
    counted = ("timestamp", "frame_index", "episode_index", "index", "task_index")
    for step in range(3):
        dataset.add_frame(
            {k: value(f, step) for k, f in dataset.features.items() if k not in counted} | {"task": "another task"}
        )
    dataset.save_episode()
    dataset.finalize()


def value(feature, step):
    dtype = np.uint8 if feature["dtype"] in ("image", "video") else feature["dtype"]
    return np.full(feature["shape"], step, dtype)


def convert(root):
    from lerobot.scripts.convert_dataset_v21_to_v30 import convert_dataset

    convert_dataset("some/one", root=Path(root), push_to_hub=False)


if __name__ == "__main__":
    {"dump": dump, "append": append, "convert": convert}[sys.argv[1]](*sys.argv[2:])

"""A small dataset for the tests: every kind of column, pictures that a lossy codec keeps recognisable."""

import os
import signal
import sys
from pathlib import Path

import numpy as np

from rlt_ros.data.lerobot.writer import DatasetWriter

FPS = 20
FRONT, WRIST = "observation.images.front", "observation.images.wrist"
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": (3,), "names": ["a", "b", "c"]},
    "action": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
    FRONT: {"dtype": "video", "shape": (32, 48, 3), "names": ["height", "width", "channels"]},
    WRIST: {"dtype": "image", "shape": (24, 32, 3), "names": ["height", "width", "channels"]},
    "next.success": {"dtype": "bool", "shape": (1,), "names": None},
    "stamp": {"dtype": "int64", "shape": (1,), "names": None},
}


def frame(episode, step):
    """The frame of an episode and step, always the same; the brightness of FRONT tells which one it is."""
    rng = np.random.default_rng([episode, step])
    return {
        "observation.state": rng.normal(size=3).astype(np.float32),
        "action": rng.uniform(-1, 1, 2).astype(np.float32),
        FRONT: np.full((32, 48, 3), level(episode, step), np.uint8),
        WRIST: rng.integers(0, 256, (24, 32, 3), dtype=np.uint8),
        "next.success": np.array([False]),
        "stamp": np.array([10**18 + episode * 10**9 + step * 50_000_000]),
    }


def level(episode, step):
    """Brightness of FRONT; neighbours differ by more than what the codec changes."""
    return (episode * 67 + step * 23) % 200 + 20


def length(episode):
    return 5 + episode


def task(episode):
    return f"task {episode % 2}"


def add_episode(writer, episode):
    for step in range(length(episode)):
        writer.add_frame(frame(episode, step), task(episode))


def write(root, episodes, features=FEATURES, **options):
    with DatasetWriter.create(root, FPS, "fr3", features, **options) as writer:
        for episode in range(episodes):
            add_episode(writer, episode)
            writer.save_episode(last={"next.success": np.array([True])})


def killed_at(root, rename):
    """Append episode 1 and die at a rename of its commit."""
    writer = DatasetWriter.open(root)
    add_episode(writer, 1)
    real, left = os.replace, [rename]

    def replace(source, target):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        real(source, target)

    os.replace = replace
    writer.save_episode()
    print("saved", flush=True)


if __name__ == "__main__":
    killed_at(Path(sys.argv[1]), int(sys.argv[2]))

"""A small sound dataset of an arm that moves and closes its gripper, for faults to be planted in."""

from dataclasses import replace

import numpy as np

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.lerobot.recording import features_for, frames_of, outcome
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.robot.config import load_robot
from rlt_ros.types import PROPRIO_NAMES

ROBOT = load_robot()
FPS, SIDE, EPISODES = 20, 32, 5
TASK = "pick the peg"
FRONT, WRIST = "observation.images.front", "observation.images.wrist"
STAMP = {"stamp": {"dtype": "int64", "shape": [1], "names": ["nanoseconds"]}}
AT = {name: index for index, name in enumerate(PROPRIO_NAMES)}


def length(number):
    return 44 + 3 * number


def demonstration(number):
    """The arm follows its actions with a lag, and the velocities are those of the pose."""
    rng, steps = np.random.default_rng(number), length(number)
    motion = np.clip(waves(rng, steps, 6, 0.3), -0.95, 0.95)
    scale = np.repeat([ROBOT.action_scale.translation, 0.2 * ROBOT.action_scale.rotation], 3)
    rates = followed(motion * scale)
    pose = np.cumsum(rates, axis=0) + rng.normal(0, 0.01, 6)
    closed = np.arange(steps) >= steps // 2
    proprio = np.zeros((steps, 19))
    proprio[:, 0] = np.clip(0.08 - 0.02 * np.maximum(0, np.arange(steps) - steps // 2), 0.03, 0.08)
    proprio[:, 1:7], proprio[:, 7:13] = pose, rates * FPS
    proprio[:, 13:] = rng.normal(0, 1.0, (steps, 6))
    proprio[:, 1:13] += rng.normal(0, 1e-5, (steps, 12))
    actions = np.column_stack([motion, np.where(closed, -1.0, 1.0)])
    images = {name: pictures(name, pose, rng) for name in ROBOT.cameras}
    success, proprio, actions = number != 3, proprio.astype(np.float32), actions.astype(np.float32)
    return Demonstration(number, images, proprio, actions, success, instruction=TASK)


def waves(rng, steps, dims, size):
    time = np.arange(steps)[:, None]
    periods, phases = rng.uniform(7, 30, (4, dims)), rng.uniform(0, 2 * np.pi, (4, dims))
    return size * sum(np.sin(2 * np.pi * time / period + phase) for period, phase in zip(periods, phases))


def followed(commands):
    rates = np.zeros_like(commands)
    for step in range(1, len(commands)):
        rates[step] = 0.4 * rates[step - 1] + 0.6 * commands[step - 1]
    return rates


def pictures(name, pose, rng):
    """Each camera has its own background; in front of it something bright goes with the arm."""
    scene = np.random.default_rng(len(name) + ord(name[0])).integers(30, 200, (SIDE // 4, SIDE // 4, 3), dtype=np.uint8)
    images = np.repeat(np.kron(scene, np.ones((4, 4, 1), np.uint8))[None].astype(int), len(pose), axis=0)
    for picture, (row, column) in zip(images, np.round(np.clip(pose[:, :2] * 300, -12, 12)).astype(int) + SIDE // 2):
        picture[row - 4 : row + 4, column - 4 : column + 4] = (240, 240, 60)
    return np.clip(images + rng.integers(-3, 4, images.shape), 0, 255).astype(np.uint8)


def sound():
    return [demonstration(number) for number in range(EPISODES)]


def write(root, demonstrations, video=False, stamps=None):
    """stamps: of every episode the raw stamps, ns."""
    features = features_for(ROBOT, dict.fromkeys(ROBOT.cameras, (SIDE, SIDE)), video, STAMP if stamps else None)
    with DatasetWriter.create(root, FPS, ROBOT.name, features) as writer:
        for episode, demo in enumerate(demonstrations):
            for step, frame in enumerate(frames_of(demo)):
                extra = {"stamp": np.array([stamps[episode][step]], np.int64)} if stamps else {}
                writer.add_frame(frame | extra, demo.instruction)
            writer.save_episode(last=outcome(demo.success))


def changed(demonstrations, episode, **changes):
    """Demonstrations with one of them changed: fields, or functions that are given a copy of an array to spoil."""
    demo = demonstrations[episode]
    values = {}
    for field, change in changes.items():
        values[field] = change
        if callable(change):
            values[field] = (
                {n: p.copy() for n, p in demo.images.items()} if field == "images" else getattr(demo, field).copy()
            )
            change(values[field])
    return [*demonstrations[:episode], replace(demo, **values), *demonstrations[episode + 1 :]]

"""Datasets in this package's own form, small; and the same content in other people's."""

import numpy as np

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.lerobot.recording import OFFSET_FEATURE, features_for, fps_of, frames_of, outcome
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.robot.config import load_robot
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

ROBOT = load_robot()
TASK = "insert the peg"
SIZE = 16


def demonstration(number=0, steps=6, **changes):
    rng = np.random.default_rng(number)
    proprio = rng.normal(0, 0.01, (steps, 19)).astype(np.float32)
    proprio[:, 0] = 0.016
    actions = rng.uniform(-1, 1, (steps, 7)).astype(np.float32)
    actions[:, 6] = -1.0
    values = {
        "id": number,
        "images": {n: rng.integers(0, 256, (steps, SIZE, SIZE, 3), dtype=np.uint8) for n in ROBOT.cameras},
        "proprio": proprio,
        "actions": actions,
        "success": bool(number % 2),
        "offset": rng.normal(0, 0.01, (steps, 2)).astype(np.float32),
        "instruction": TASK,
    }
    return Demonstration(**(values | changes))


def write(root, demonstrations, robot=ROBOT, video=False, task=TASK):
    extra = OFFSET_FEATURE if demonstrations[0].offset is not None else None
    features = features_for(robot, dict.fromkeys(robot.cameras, (SIZE, SIZE)), video, extra)
    with DatasetWriter.create(root, fps_of(robot), robot.name, features) as writer:
        for episode in demonstrations:
            for frame in frames_of(episode):
                writer.add_frame(frame, task)
            writer.save_episode(last=outcome(episode.success))


FOREIGN_CAMERAS = {"front": "observation.images.cam_high", "wrist": "observation.images.cam_hand"}


def foreign(root, states, actions, action_names, state_names=PROPRIO_NAMES, fps=20):
    """A dataset as somebody else would write it: one episode, states (T, n), actions (T, m), no meanings kept."""
    picture = {"dtype": "image", "shape": (SIZE, SIZE, 3), "names": ["height", "width", "channels"]}
    features = {
        "observation.state": {"dtype": "float32", "shape": (len(state_names),), "names": {"axes": list(state_names)}},
        "action": {"dtype": "float32", "shape": (len(action_names),), "names": list(action_names)},
    } | dict.fromkeys(FOREIGN_CAMERAS.values(), picture)
    pixels = np.zeros((SIZE, SIZE, 3), np.uint8)
    with DatasetWriter.create(root, fps, "arm", features) as writer:
        for state, action in zip(states, actions):
            frame = {"observation.state": np.float32(state), "action": np.float32(action)}
            writer.add_frame(frame | dict.fromkeys(FOREIGN_CAMERAS.values(), pixels), "do it")
        writer.save_episode()


def foreign_mapping(**changes):
    """The content of a mapping file for `foreign` with our own names and convention; changes by "section.key"."""
    reference = ROBOT.reference_pose
    content = {
        "cameras": dict(FOREIGN_CAMERAS),
        "state": {
            "elements": {name: f"observation.state/{name}" for name in PROPRIO_NAMES},
            "pose": "reference",
            "reference": [*reference.position, *reference.quaternion],
        },
        "action": {
            "elements": [f"action/{name}" for name in ACTION_NAMES],
            "convention": "delta",
            "anchor": "last_target",
            "translation_scale": 0.005,
            "rotation_scale": 0.05,
        },
        "gripper": {"open": 1.0, "closed": -1.0},
    }
    for path, value in changes.items():
        section, _, key = path.partition(".")
        if key:
            content[section] = content[section] | {key: value}
        else:
            content[section] = value
    return content

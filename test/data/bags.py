"""Bags for the tests, written with real serialisation: runs of our own topics, and of a robot's raw ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from rlt_ros.data.bags.definitions import message_folder, own_types

STORE = get_typestore(Stores.ROS2_KILTED)
STORE.register(own_types(message_folder()))
TYPE = STORE.types
PERIOD = 50_000_000
START = 1_700_000_000_000_000_000
VLA, HUMAN, HOLD, RESET = 0, 2, 3, 4
SUCCESS, FAILURE, DISCARD = 1, 2, 3


def header(stamp: int, frame: str = "fr3_link0") -> Any:
    time = TYPE["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    return TYPE["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def image(rgb: np.ndarray, stamp: int, encoding: str = "rgb8", padding: int = 0) -> Any:
    height, width, channels = rgb.shape
    rows = np.pad(rgb.reshape(height, -1), ((0, 0), (0, padding)))
    return TYPE["sensor_msgs/msg/Image"](
        header=header(stamp), height=height, width=width, encoding=encoding, is_bigendian=0,
        step=width * channels + padding, data=rows.ravel(),
    )  # fmt: skip


def pixels(number: int, side: int = 16) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (side, side, 3), np.uint8)


def proprio(number: int) -> np.ndarray:
    """The gripper's width, then the number of the observation."""
    return np.array([0.016, number, *np.linspace(-0.1, 0.1, 17)], dtype=np.float32)


def action(number: int) -> np.ndarray:
    return np.append(np.full(6, (number % 100) / 100), -1.0).astype(np.float32)


def observation(number: int, stamp: int, episode: int = 1) -> Any:
    return TYPE["rlt_ros/msg/Observation"](
        header=header(stamp), id=number, episode=episode, step=number, cameras=["front", "wrist"],
        images=[image(pixels(number), stamp), image(pixels(number + 10_000), stamp)], proprio=proprio(number),
    )  # fmt: skip


def step(number: int, stamp: int, driver: int = HUMAN, phase_id: int = 0, episode: int = 1, **changes: Any) -> Any:
    values = {
        "header": header(stamp), "observation_id": number, "episode": episode, "step": number, "driver": driver,
        "action": action(number) / 2, "sent": action(number), "phase_id": phase_id, "chunk_id": 0, "chunk_index": 0,
        "remaining": 0, "commanded": True, "reset_done": driver == RESET, "reason": "",
    }  # fmt: skip
    return TYPE["rlt_ros/msg/ExecutedStep"](**(values | changes))


def event(number: int, stamp: int, phase_id: int, label: int) -> Any:
    return TYPE["rlt_ros/msg/EpisodeEvent"](
        header=header(stamp), observation_id=number, episode=1, phase_id=phase_id, label=label
    )


def pose(position: tuple[float, float, float], stamp: int) -> Any:
    point = TYPE["geometry_msgs/msg/Point"](*position)
    turn = TYPE["geometry_msgs/msg/Quaternion"](1.0, 0.0, 0.0, 0.0)
    return TYPE["geometry_msgs/msg/PoseStamped"](header(stamp), TYPE["geometry_msgs/msg/Pose"](point, turn))


def joints(values: dict[str, float], stamp: int) -> Any:
    positions = np.array(list(values.values()))
    none = np.zeros(0)
    return TYPE["sensor_msgs/msg/JointState"](header(stamp), list(values), positions, none, none)


@dataclass
class Recording:
    """Messages to be written: topic, receipt in ns, message."""

    messages: list[tuple[str, int, Any]] = field(default_factory=list)

    def add(self, topic: str, receipt: int, message: Any) -> None:
        self.messages.append((topic, receipt, message))

    def write(self, path: Path, storage: StoragePlugin = StoragePlugin.MCAP) -> Path:
        with Writer(path, version=9, storage_plugin=storage) as writer:
            connections = {}
            for topic, receipt, message in sorted(self.messages, key=lambda item: item[1]):
                kind = message.__msgtype__
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
                writer.write(connections[topic], receipt, STORE.serialize_cdr(message, kind))
        return path


def run(
    phases: Iterable[tuple[int, int]],
    pause: int = 3,
    jitter: float = 0.0,
    missing: Iterable[tuple[str, int]] = (),
    period: int = PERIOD,
    ids_from: int = 1,
    stamps_from: int = 1,
) -> Recording:
    """Our topics: phases of (steps, label), each after a reset and a pause.

    jitter: s, standard deviation of the stamps. missing: (observation | executed_step, id) that were not recorded.
    period: ns between steps. ids_from, stamps_from: id of the first observation, and periods until its stamp.
    """
    made, number, lost, rng = Recording(), ids_from - 1, set(missing), np.random.default_rng(0)
    for phase_id, (steps, label) in enumerate(phases, 1):
        for place in range(pause + steps):
            number += 1
            stamp = START + (number - ids_from + stamps_from) * period + int(rng.normal(0.0, jitter) * 1e9)
            inside = place >= pause
            driver = RESET if place == 0 else HUMAN
            if ("observation", number) not in lost:
                made.add("/rlt/observation", stamp + 2_000_000, observation(number, stamp, phase_id))
            if ("executed_step", number) not in lost:
                answer = step(number, stamp, driver, phase_id if inside else 0, phase_id)
                made.add("/rlt/executed_step", stamp + 9_000_000, answer)
        made.add("/rlt/episode_event", stamp + 10_000_000, event(number + 1, stamp + period, phase_id, label))
    return made

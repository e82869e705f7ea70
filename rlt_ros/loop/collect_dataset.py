"""The dataset that demonstrations go to: opened or created for what the robot really sends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.data.framing import step_features, step_frame
from rlt_ros.data.lerobot.recording import fps_of, outcome
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.loop.collecting import Take
from rlt_ros.loop.recording import Form
from rlt_ros.loop.report import write_json
from rlt_ros.robot.config import RobotConfig
from rlt_ros.types import Label, Observation

RUNS = "collection.json"
"""Beside the dataset's own files: what each run of the collector has done. No LeRobot loader looks at it."""


@dataclass(frozen=True)
class DatasetConfig:
    """Where demonstrations go and how."""

    out: str = ""
    """Directory of the dataset."""
    resume: bool = False
    """Append to an existing dataset."""
    instruction: str = "insert the peg"
    """The task in words: what a VLA is told."""
    storage: str = "image"
    """Of pictures: image (PNG, exact) or video (small, lossy)."""
    codec: str = "h264"
    """Of videos: h264 or libsvtav1."""

    def __post_init__(self) -> None:
        if not self.out:
            raise ValueError("out is empty; expected the directory of the dataset")
        if not self.instruction:
            raise ValueError("instruction is empty; expected the task in words")
        if self.storage not in ("image", "video"):
            raise ValueError(f"storage is {self.storage!r}; expected image or video")


def check_place(config: DatasetConfig) -> None:
    """Raise ValueError if the directory cannot be used: seen before the robot is started, not after."""
    folder = Path(config.out).expanduser()
    if config.resume and not (folder / "meta" / "info.json").exists():
        raise ValueError(f"{folder}: no dataset to resume")
    if not config.resume and folder.exists():
        raise ValueError(f"{folder}: exists already; choose another directory, or append to it with resume:=true")


def open_dataset(config: DatasetConfig, robot: RobotConfig, observation: Observation) -> tuple[DatasetWriter, Form]:
    """A writer for frames like this observation, and their form.

    Raises ValueError or OSError where the dataset cannot be created, or is one of other cameras, sizes or rate.
    """
    features = step_features(robot, observation.images, config.storage == "video")
    folder, rate = Path(config.out).expanduser(), fps_of(robot)
    if config.resume:
        writer = DatasetWriter.open(folder, rate, features, config.codec)
    else:
        writer = DatasetWriter.create(folder, rate, robot.name, features, config.codec)
    return writer, Form(config.instruction, step_frame, _last)


def _last(take: Take) -> dict[str, Any]:
    return outcome(take.label is Label.SUCCESS)


def write_run(folder: Path, summary: dict[str, Any]) -> None:
    """Add a run's summary to those beside the dataset."""
    path = folder / RUNS
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    write_json(path, {"runs": [*runs, summary]})

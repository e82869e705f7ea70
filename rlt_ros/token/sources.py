"""Where the demonstrations of Stage 1 come from: the simulator, or a LeRobot dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rlt_ros.data.contract import compare
from rlt_ros.data.demos import Demonstration
from rlt_ros.robot.config import RobotConfig
from rlt_ros.token.config import DatasetConfig, Stage1Config
from rlt_ros.token.run import Run


def record(config: Stage1Config, robot: RobotConfig, seed: int, size: int, run: Run) -> list[Demonstration]:
    """All episodes, with progress; size: side of the pictures, pixels.

    Raises ValueError on a dataset that is unfit, ContractMismatch where it was recorded with another instruction.
    """
    if config.dataset.path:
        episodes = list(_shown(_stored(config.dataset, robot, size), run, 0))
    else:
        episodes = list(_shown(_simulated(config, robot, seed, size), run, config.demonstrations))
    if not episodes:
        raise ValueError(f"{config.dataset.path or config.task}: no demonstrations, there is nothing to learn from")
    for episode in episodes:
        compare(f"instruction of episode {episode.id}", config.instruction, episode.instruction or config.instruction)
    return episodes


def dataset_hash(config: DatasetConfig) -> str:
    """The hash that the dataset's statistics name too; reads every file of it once."""
    from rlt_ros.data.lerobot.hashing import dataset_hash
    from rlt_ros.data.lerobot.reader import DatasetReader

    return dataset_hash(DatasetReader(_path(config.path)))


def _simulated(config: Stage1Config, robot: RobotConfig, seed: int, size: int) -> Iterator[Demonstration]:
    # Here and not above: training on a dataset needs no simulator, and simulated demonstrations need no pyarrow.
    from rlt_ros.token.demonstrate import demonstrations

    return demonstrations(config, robot, seed, size)


def _stored(config: DatasetConfig, robot: RobotConfig, size: int) -> Iterator[Demonstration]:
    from rlt_ros.data.lerobot.demonstrations import load
    from rlt_ros.data.lerobot.mapping import load_mapping

    mapping = load_mapping(_path(config.mapping)) if config.mapping else None
    return load(_path(config.path), mapping, robot, size)


def _shown(episodes: Iterator[Demonstration], run: Run, total: int) -> Iterator[Demonstration]:
    progress = run.progress("demonstrations", total)
    for count, episode in enumerate(episodes, start=1):
        progress.update(count)
        yield episode


def _path(text: str) -> Path:
    return Path(text).expanduser()

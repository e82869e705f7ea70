"""Where the demonstrations of Stage 1 come from: the simulator, or a LeRobot dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlt_ros.data.contract import compare
from rlt_ros.data.demos import Demonstration
from rlt_ros.robot.config import RobotConfig
from rlt_ros.token.config import DatasetConfig, Stage1Config
from rlt_ros.token.run import Run
from rlt_ros.token.spool import Spool
from rlt_ros.types import PROPRIO_NAMES


@dataclass(frozen=True)
class Recorded:
    """Episodes in their order. pictures: camera name to uint8 (N, h, w, 3), all frames, mapped from disk; the episodes
    then hold none. None: they hold them."""

    episodes: list[Demonstration]
    pictures: dict[str, np.ndarray] | None = None


def record(config: Stage1Config, robot: RobotConfig, seed: int, size: int, run: Run) -> Recorded:
    """All episodes, with progress; size: side of the pictures, pixels.

    Raises ValueError on a dataset that is unfit, ContractMismatch where it was recorded with another instruction.
    """
    if config.dataset.path:
        source, total = _stored(config, robot, size), 0
    else:
        source, total = _simulated(config, robot, seed, size), config.demonstrations
    recorded = _gathered(_checked(source, config, run, total), run)
    if not recorded.episodes:
        raise ValueError(f"{config.dataset.path or config.task}: no demonstrations, there is nothing to learn from")
    return recorded


def dataset_hash(config: DatasetConfig) -> str:
    """The hash that the dataset's statistics name too; reads every file of it once."""
    from rlt_ros.data.lerobot.hashing import dataset_hash
    from rlt_ros.data.lerobot.reader import DatasetReader

    return dataset_hash(DatasetReader(_path(config.path)))


def _simulated(config: Stage1Config, robot: RobotConfig, seed: int, size: int) -> Iterator[Demonstration]:
    # Here and not above: training on a dataset needs no simulator, and simulated demonstrations need no pyarrow.
    from rlt_ros.token.demonstrate import demonstrations

    return demonstrations(config, robot, seed, size)


def _stored(config: Stage1Config, robot: RobotConfig, size: int) -> Iterator[Demonstration]:
    from rlt_ros.data.lerobot.demonstrations import load
    from rlt_ros.data.lerobot.mapping import load_mapping

    dataset = config.dataset
    mapping = load_mapping(_path(dataset.mapping)) if dataset.mapping else None
    if mapping is not None:
        _refuse_absent(mapping.state.absent, config, dataset.mapping)
    return load(_path(dataset.path), mapping, robot, size)


def _refuse_absent(absent: Sequence[str], config: Stage1Config, where: str) -> None:
    """Zero in training and a real measurement on the robot, not scaled: the policy would act on what it never saw."""
    names = config.proprio_names
    if set(absent) & set(names):
        left = [PROPRIO_NAMES.index(name) for name in names if name not in absent]
        raise ValueError(
            f"{where}: state.absent has {[name for name in names if name in absent]}, which VLA and agent would get; "
            f"leave them out with state_indices: {left}"
        )


def _checked(episodes: Iterator[Demonstration], config: Stage1Config, run: Run, total: int) -> Iterator[Demonstration]:
    progress = run.progress("demonstrations", total)
    for count, episode in enumerate(episodes, start=1):
        compare(f"instruction of episode {episode.id}", config.instruction, episode.instruction or config.instruction)
        progress.update(count)
        yield episode


def _gathered(episodes: Iterator[Demonstration], run: Run) -> Recorded:
    if not run.config.frames:
        return Recorded(list(episodes))
    spool = Spool(_path(run.config.frames), writes=run.processes.rank == 0)
    light = [spool.take(episode) for episode in episodes]
    spool.close()
    run.processes.wait()
    return Recorded(light, spool.pictures())


def _path(text: str) -> Path:
    return Path(text).expanduser()

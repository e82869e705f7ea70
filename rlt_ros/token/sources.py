"""Where the demonstrations of Stage 1 come from: the simulator, or a LeRobot dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rlt_ros.data.demos import Demonstration
from rlt_ros.robot.config import RobotConfig
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.run import Run


def record(config: Stage1Config, robot: RobotConfig, seed: int, size: int, run: Run) -> list[Demonstration]:
    """All episodes, with progress; size: side of the pictures, pixels. Raises ValueError on a dataset that is unfit."""
    if config.dataset.path:
        return list(_shown(_stored(config, robot, size), run, 0))
    return list(_shown(_simulated(config, robot, seed, size), run, config.demonstrations))


def _simulated(config: Stage1Config, robot: RobotConfig, seed: int, size: int) -> Iterator[Demonstration]:
    # Here and not above: training on a dataset needs no simulator.
    from rlt_ros.token.demonstrate import demonstrations

    return demonstrations(config, robot, seed, size)


def _stored(config: Stage1Config, robot: RobotConfig, size: int) -> Iterator[Demonstration]:
    from rlt_ros.data.lerobot.demonstrations import load

    return load(Path(config.dataset.path), Path(config.dataset.mapping), robot, size)


def _shown(episodes: Iterator[Demonstration], run: Run, total: int) -> Iterator[Demonstration]:
    progress, count = run.progress("demonstrations", total), 0
    for count, episode in enumerate(episodes, start=1):
        progress.update(count)
        yield episode
    if count == 0:
        raise ValueError("no demonstrations: there is nothing to learn from")

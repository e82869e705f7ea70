"""`rlt stage1 --config FILE`: a run with a directory of its own, that can be stopped and gone on with."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from rlt_ros.files import remove
from rlt_ros.robot.config import load_robot
from rlt_ros.strict import load
from rlt_ros.token.config import Stage1File
from rlt_ros.token.lock import locked


def read_file(
    path: Path, output: str = "", seed: int | None = None, untrained: bool = False, dataset: str = ""
) -> Stage1File:
    """A configuration file, and what the command line puts in the place of its values. Raises ConfigError."""
    file = load(Stage1File, path)
    learn = file.learn.untrained if untrained else file.learn
    if dataset:
        learn = replace(learn, dataset=replace(learn.dataset, path=dataset))
    return replace(file, learn=learn, output=output or file.output, seed=file.seed if seed is None else seed)


def run_folder(output: Path) -> Path:
    """Where a run keeps curves and snapshots: beside its checkpoint, which is written whole at the end."""
    return output.with_name(f"{output.name}.run")


def resumable(folder: Path) -> bool:
    """Whether a run folder has snapshots to go on from."""
    return any((folder / "snapshots").glob("*-*"))


def run_file(file: Stage1File, resume: bool) -> Path:
    """Train what a file says; returns the checkpoint's path.

    Raises FileExistsError on a checkpoint, or on snapshots that nobody asked to go on with, FileNotFoundError where
    there are none to go on with; both before anything else is done.
    """
    # Here and not above: torch takes seconds, and a wrong file should be told at once.
    from rlt_ros.tensor import torch
    from rlt_ros.token.processes import current
    from rlt_ros.token.run import Run
    from rlt_ros.token.stage1 import run_stage1

    output = Path(file.output).expanduser()
    folder = run_folder(output)
    _refuse(output, folder, resume)
    processes = current(file.run.device)
    if file.run.threads:
        torch.set_num_threads(file.run.threads)
    robot = load_robot(file.robot_config)
    recipe = {"learn": asdict(file.learn), "robot": asdict(robot), "seed": file.seed}

    def train() -> None:
        run = Run(folder, file.run, recipe, processes)
        run_stage1(file.learn, robot, file.seed, output, run=run)

    if processes.rank:
        train()
    else:
        with locked(output, lambda line: print(line, flush=True)):
            _refuse(output, folder, resume)
            train()
    return output


def _refuse(output: Path, folder: Path, resume: bool) -> None:
    if output.exists():
        raise FileExistsError(f"{output} exists already: choose another output")
    found = resumable(folder)
    if found and not resume:
        raise FileExistsError(f"{folder} has snapshots of a run: go on with it with --resume, or remove it")
    if resume and not found:
        raise FileNotFoundError(f"{folder} has no snapshots: there is nothing to resume")
    if not resume:
        remove(folder / "tensorboard")

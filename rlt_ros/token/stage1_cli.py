"""`rlt stage1`: a VLA and its RL token from demonstrations, of a dataset or simulated.

With --config a run of one's own; without it a preset on simulated demonstrations, trained once and cached.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rlt_ros.data.contract import compare
from rlt_ros.interrupt import interruptible
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.cache import cache_root, recipe_of
from rlt_ros.token.config import PRESETS, Stage1Config, stage1_config
from rlt_ros.token.lock import locked
from rlt_ros.token.stage1_file import read_file, resumable, run_file, run_folder

OF_PRESETS = ("preset", "task", "cache", "robot_config", "vla_from")
"""Arguments that a configuration file has in their place."""


@interruptible()
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of output is `stage1: checkpoint at PATH`."""
    args = parser().parse_args(argv)
    try:
        path = _by_file(args) if args.config else _by_preset(args)
    except (ArithmeticError, ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"stage1: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"stage1: interrupted; {_left_behind(args)}", file=sys.stderr)
        return 130
    if os.environ.get("RANK", "0") == "0":  # of several processes, the first one
        print(f"stage1: checkpoint at {path}", flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt stage1", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("--config", type=Path, help="what to train, on what, and where to (YAML; docs/stage1.md)")
    add("--dataset", default="", metavar="DIR", help="with --config: LeRobot dataset (default: the file's)")
    add("--resume", action="store_true", help="with --config: go on from the newest snapshots of an interrupted run")
    add("--token", choices=["trained", "untrained"], default="trained", help="untrained: a random encoder, to compare")
    add("--output", default="", help="checkpoint directory (default: the file's, or in the cache)")
    add("--seed", type=int, help="of demonstrations and training (default: the file's, or 0)")
    group = result.add_argument_group("without --config")
    add = group.add_argument
    add("--preset", choices=sorted(PRESETS), default="demo", help="what to train (default: demo)")
    add("--task", choices=list(TASKS), default=DEFAULT_TASK, help=f"default: {DEFAULT_TASK}")
    add("--cache", default="", help="cache directory (default: RLT_CACHE_DIR or ~/.cache/rlt_ros)")
    add("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    add("--vla-from", default="", metavar="DIR", help="Stage-1 checkpoint whose VLA is taken as it is")
    return result


def _by_file(args: argparse.Namespace) -> Path:
    defaults = vars(parser().parse_args([]))
    for name in OF_PRESETS:
        if getattr(args, name) != defaults[name]:
            raise ValueError(f"--{name.replace('_', '-')} has no effect with --config; the file says it")
    return run_file(
        read_file(args.config, args.output, args.seed, args.token == "untrained", args.dataset), args.resume
    )


def _by_preset(args: argparse.Namespace) -> Path:
    if args.resume:
        raise ValueError("--resume needs --config; a preset is trained in one go")
    if args.dataset:
        raise ValueError("--dataset needs --config; a preset is for simulated demonstrations")
    config, seed = _preset(args), args.seed or 0
    recipe = recipe_of(config, seed, args.robot_config)
    root = Path(args.cache) if args.cache else cache_root()
    path = Path(args.output) if args.output else root / "stage1" / f"{args.preset}-{args.task}-{recipe[:16]}"
    with locked(path, lambda line: print(line, flush=True)):
        _ensure(path, config, seed, args.robot_config, recipe)
    return path


def _preset(args: argparse.Namespace) -> Stage1Config:
    config = stage1_config(args.preset, args.task)
    if args.vla_from:
        config = replace(config, vla_from=args.vla_from, objective="frozen")
    return config.untrained if args.token == "untrained" else config


def _ensure(path: Path, config: Stage1Config, seed: int, robot_config: str, recipe: str) -> None:
    """Train unless the path holds a sound checkpoint of this very recipe; any other is named and left alone."""
    # Here and not above: parsing arguments and naming the cached path need neither torch nor MuJoCo.
    from rlt_ros.tensor import torch
    from rlt_ros.token.checkpoint import load_stage1, read_metrics
    from rlt_ros.token.stage1 import run_stage1

    if path.exists():
        load_stage1(path)
        compare(f"{path}: recipe (remove it or choose another --output)", recipe, read_metrics(path).get("recipe"))
        return
    torch.set_num_threads(1)
    run_stage1(config, load_robot(robot_config), seed, path, recipe)


def _left_behind(args: argparse.Namespace) -> str:
    folder = run_folder(Path(read_file(args.config, args.output).output).expanduser()) if args.config else None
    return f"--resume goes on from the snapshots in {folder}" if folder and resumable(folder) else "nothing was written"


if __name__ == "__main__":
    sys.exit(main())

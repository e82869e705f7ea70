"""`rlt stage1`: demonstrations, VLA and RL token of a simulated task, trained once and cached."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rlt_ros.data.contract import compare
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.cache import cached_stage1, recipe_hash
from rlt_ros.token.config import PRESETS, stage1_config
from rlt_ros.token.lock import locked


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of output is `stage1: checkpoint at PATH`."""
    args = parser().parse_args(argv)
    # MuJoCo and its renderer read these when they are first imported.
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        path = Path(args.output) if args.output else _cached(args)
        with locked(path, lambda line: print(line, flush=True)):
            _ensure(path, args)
    except (ImportError, OSError, ValueError) as error:
        print(f"stage1: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stage1: interrupted; nothing was written", file=sys.stderr)
        return 130
    print(f"stage1: checkpoint at {path}", flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="rlt stage1", description=__doc__)
    result.add_argument("--preset", choices=sorted(PRESETS), default="demo", help="what to train (default: demo)")
    result.add_argument("--task", choices=list(TASKS), default=DEFAULT_TASK, help=f"default: {DEFAULT_TASK}")
    result.add_argument("--output", default="", help="checkpoint directory (default: in the cache)")
    result.add_argument("--cache", default="", help="cache directory (default: RLT_CACHE_DIR or ~/.cache/rlt_ros)")
    result.add_argument("--seed", type=int, default=0, help="of demonstrations and training (default: 0)")
    result.add_argument("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    return result


def _cached(args: argparse.Namespace) -> Path:
    root = Path(args.cache) if args.cache else None
    return cached_stage1(args.preset, args.seed, args.robot_config, root, args.task)


def _ensure(path: Path, args: argparse.Namespace) -> None:
    """Train unless the path holds a sound checkpoint of this very recipe; any other is named and left alone."""
    # Here and not above: parsing arguments and naming the cached path need neither torch nor MuJoCo.
    from rlt_ros.tensor import torch
    from rlt_ros.token.checkpoint import load_stage1, read_metrics
    from rlt_ros.token.stage1 import run_stage1

    recipe = recipe_hash(args.preset, args.seed, args.robot_config, args.task)
    if path.exists():
        load_stage1(path)
        compare(f"{path}: recipe (remove it or choose another --output)", recipe, read_metrics(path).get("recipe"))
        return
    torch.set_num_threads(1)
    run_stage1(stage1_config(args.preset, args.task), load_robot(args.robot_config), args.seed, path, recipe)


if __name__ == "__main__":
    sys.exit(main())

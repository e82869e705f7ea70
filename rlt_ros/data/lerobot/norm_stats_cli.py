"""`rlt norm-stats`: mean, standard deviation and quantiles over all frames of datasets, with the datasets' hash."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rlt_ros.robot.config import load_robot

NAME = Path("meta/rlt_norm_stats.json")
"""Where the statistics of one dataset are written to; LeRobot does not look at it, and it is not part of the hash."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of output is `norm-stats: written to PATH`."""
    args = parser().parse_args(argv)
    if len(args.dataset) > 1 and not args.out:
        print("norm-stats: several datasets need --out", file=sys.stderr)
        return 2
    try:
        path = _write(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"norm-stats: {error}", file=sys.stderr)
        return 1
    print(f"norm-stats: written to {path}")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="rlt norm-stats", description=__doc__)
    result.add_argument("dataset", nargs="+", type=Path, metavar="DIR", help="LeRobot dataset, v2.1 or v3.0")
    result.add_argument("--mapping", default="", help="mapping YAML (default: for datasets that this package wrote)")
    result.add_argument("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    result.add_argument("--out", default="", help=f"file to write (default: DIR/{NAME})")
    return result


def _write(args: argparse.Namespace) -> Path:
    from rlt_ros.data.lerobot.demonstrations import DemonstrationSource
    from rlt_ros.data.lerobot.mapping import load_mapping
    from rlt_ros.data.lerobot.norm_stats import DatasetNorm

    robot = load_robot(args.robot_config)
    mapping = load_mapping(args.mapping) if args.mapping else None
    norm = DatasetNorm.of([DemonstrationSource(root, mapping, robot) for root in args.dataset])
    path = Path(args.out) if args.out else args.dataset[0] / NAME
    norm.save(path)
    print(f"norm-stats: {norm.episodes} episodes, {norm.frames} frames, dataset {norm.dataset}")
    for part, stats in (("state", norm.proprio), ("action", norm.action)):
        for i, name in enumerate(stats.names):
            print(f"{part}/{name:<{19 - len(part)}} mean {stats.mean[i]:10.4g} std {stats.std[i]:10.4g} ", end="")
            print(f"q01 {stats.q01[i]:10.4g} q99 {stats.q99[i]:10.4g}")
    return path


if __name__ == "__main__":
    sys.exit(main())

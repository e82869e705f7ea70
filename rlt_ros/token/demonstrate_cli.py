"""`rlt demonstrate`: demonstrations of a simulated task as a LeRobot dataset."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlt_ros.interrupt import interruptible
from rlt_ros.robot.config import RobotConfig, load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.config import Stage1Config, stage1_config

if TYPE_CHECKING:
    from rlt_ros.data.lerobot.writer import DatasetWriter


@interruptible()
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; whatever ends it, the dataset holds the episodes that were reported."""
    args = parser().parse_args(argv)
    try:
        _record(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"demonstrate: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demonstrate: interrupted; the episodes above are kept", file=sys.stderr)
        return 130
    print(f"demonstrate: dataset at {args.out}", flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="rlt demonstrate", description=__doc__)
    result.add_argument("--out", required=True, type=Path, help="new directory of the dataset")
    result.add_argument("--episodes", type=int, default=60, help="default: 60")
    result.add_argument("--seed", type=int, default=0, help="of start states and operator (default: 0)")
    result.add_argument("--task", choices=list(TASKS), default=DEFAULT_TASK, help=f"default: {DEFAULT_TASK}")
    result.add_argument("--size", type=int, default=128, help="sides of the recorded pictures, pixels (default: 128)")
    result.add_argument("--video", action="store_true", help="lossy videos instead of exact pictures")
    result.add_argument("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    return result


def _record(args: argparse.Namespace) -> None:
    config = stage1_config("demo", args.task)
    config = replace(config, demonstrations=args.episodes, vla=replace(config.vla, image_size=args.size))
    robot = load_robot(args.robot_config)
    with _writer(args, robot) as writer:
        _episodes(writer, config, robot, args.seed)


def _writer(args: argparse.Namespace, robot: RobotConfig) -> DatasetWriter:
    from rlt_ros.data.lerobot.recording import OFFSET_FEATURE, features_for, fps_of
    from rlt_ros.data.lerobot.writer import DatasetWriter

    sizes = dict.fromkeys(robot.cameras, (args.size, args.size))
    features = features_for(robot, sizes, args.video, OFFSET_FEATURE)
    return DatasetWriter.create(args.out, fps_of(robot), robot.name, features)


def _episodes(writer: DatasetWriter, config: Stage1Config, robot: RobotConfig, seed: int) -> None:
    from rlt_ros.data.lerobot.recording import frames_of, outcome
    from rlt_ros.token.demonstrate import demonstrations

    for demonstration in demonstrations(config, robot, seed):
        for frame in frames_of(demonstration):
            writer.add_frame(frame, config.instruction)
        number = writer.save_episode(last=outcome(demonstration.success)) + 1
        end = "success" if demonstration.success else "failure"
        steps = len(demonstration.actions)
        print(f"demonstrate: episode {number}/{config.demonstrations}, {steps} frames, {end}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

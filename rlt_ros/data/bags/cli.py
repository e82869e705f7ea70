"""`rlt bag-to-lerobot BAG OUT`: a recorded run becomes a LeRobot dataset at a fixed rate."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rlt_ros.interrupt import interruptible


@interruptible()
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns 0 if the dataset was written, 1 with the reason if not, 130 after Ctrl-C."""
    args = _parser().parse_args(argv)
    try:
        return _convert(args)
    except (ValueError, OSError, ImportError) as error:
        print(f"bag-to-lerobot: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bag-to-lerobot: interrupted; nothing was written", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="rlt bag-to-lerobot", description=__doc__)
    p.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 directory, or a .mcap or .db3 file")
    p.add_argument("out", type=Path, metavar="OUT", help="directory of the dataset; must not exist")
    p.add_argument("--rate", type=int, metavar="HZ", help="frames per second; default: the robot's control rate")
    p.add_argument("--mapping", type=Path, metavar="YAML", help="any topics to features; default: our own topics")
    p.add_argument("--split", default="phase", help="our topics, an episode is a: phase (default), episode or run")
    p.add_argument("--instruction", default="insert the peg", metavar="TEXT", help="the task in words")
    p.add_argument("--max-age", type=float, metavar="S", help="a sample as old as that at its tick is a fault")
    p.add_argument("--offset", type=float, metavar="S", help="of the first tick; default: where samples are steadiest")
    p.add_argument("--on-fault", choices=["skip", "fail"], default="skip", help="leave episodes out, or refuse the bag")
    p.add_argument("--storage", choices=["image", "video"], default="image", help="of pictures, with our topics")
    p.add_argument("--codec", default="h264", help="of videos: h264 or libsvtav1")
    p.add_argument("--robot-config", default="", metavar="YAML", help="robot config; default: the FR3's")
    p.add_argument("--json", type=Path, metavar="FILE", help="write what is reported there as JSON, too")
    return p


def _convert(args: argparse.Namespace) -> int:
    from rlt_ros.data.bags.bag import Bag
    from rlt_ros.data.bags.convert import Options, convert
    from rlt_ros.data.bags.mapping import MappedTopics
    from rlt_ros.data.bags.ours import OwnTopics
    from rlt_ros.data.bags.report import summary, text
    from rlt_ros.files import write_whole
    from rlt_ros.robot.config import load_robot

    robot = load_robot(args.robot_config)
    options = Options(
        rate=args.rate or round(robot.control_rate),
        instruction=args.instruction,
        robot_type=robot.name,
        offset=args.offset,
        max_age=args.max_age,
        on_fault=args.on_fault,
        codec=args.codec,
    )
    with Bag(args.bag) as bag:
        own = args.mapping is None
        layout = OwnTopics(bag, robot, args.split, args.storage) if own else MappedTopics(bag, args.mapping)
        conversion = convert(bag, layout, args.out, options, _tell)
    figures = summary(conversion, options.rate)
    print(text(figures))
    print(f"dataset {args.out.resolve()}")
    if args.json is not None:
        write_whole(args.json, (json.dumps(figures, indent=2) + "\n").encode())
    return 0


def _tell(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\repisode {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)

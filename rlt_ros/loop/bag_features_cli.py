"""`rlt rows-from-bag BAG --checkpoint DIR --out RUN`: a recorded run through another VLA or token, offline.

Its observations get features of the checkpoint, its labelled phases become rows; `rlt train RUN` learns from them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rlt_ros.interrupt import interruptible


@interruptible()
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of standard output is the run directory. Returns 0, 1 with the reason, 130."""
    args = parser().parse_args(argv)
    try:
        return _run(args)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        print(f"rows-from-bag: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rows-from-bag: interrupted; nothing was written", file=sys.stderr)
        return 130


def _run(args: argparse.Namespace) -> int:
    from rlt_ros.data.bags.bag import Bag
    from rlt_ros.data.bags.profile import absolute
    from rlt_ros.data.bags.raw_pictures import RawPictures
    from rlt_ros.files import written_aside
    from rlt_ros.loop.bag_features import BagFeatures, stream_name
    from rlt_ros.loop.sources import JOURNAL, stage1_origin
    from rlt_ros.rl.journal import Journal
    from rlt_ros.rl.origin import claim
    from rlt_ros.robot.config import load_robot
    from rlt_ros.token.checkpoint import load_stage1
    from rlt_ros.token.extractor import FeatureExtractor

    robot, stage1 = load_robot(args.robot_config), load_stage1(args.checkpoint, args.device, args.vla_url)
    contract = stage1.contract
    contract.check_robot(robot)
    extractor = FeatureExtractor(stage1, args.seed, threads=args.threads)
    began = time.monotonic()
    with Bag(args.bag) as bag, written_aside(args.out) as aside:
        cameras = {name: absolute(args.robot_namespace, robot.cameras[name]) for name in contract.cameras}
        age = round(2e9 / contract.control_rate)
        raw = RawPictures(bag, cameras, contract.image_size[0], age) if args.pictures == "cameras" else None
        made = BagFeatures(
            extractor, contract.chunk, 1.0 / contract.control_rate, stream_name(args.bag), batch=args.batch, raw=raw
        )
        claim(aside / JOURNAL, stage1_origin(args.checkpoint))
        journal = Journal(aside / JOURNAL)
        rows = 0
        for row in made.rows(bag):
            journal.append(row)
            rows += 1
        journal.close()
        if not rows:
            raise ValueError(f"{args.bag}: no rows in {made.phases} labelled phases; left out: {dict(made.dropped)}")
    seconds = time.monotonic() - began
    figures = {"rows": rows, "phases": made.phases, "passes": made.passes, "dropped": dict(made.dropped)}
    figures |= {"blind": raw.blind if raw else 0, "seconds": round(seconds, 1), "rows_per_s": round(rows / seconds, 1)}
    print(json.dumps(figures))
    print(f"rows-from-bag: run directory {args.out}", flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt rows-from-bag", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("bag", type=Path, metavar="BAG", help="bag of one run, recorded as `full`")
    add("--checkpoint", type=Path, required=True, metavar="DIR", help="Stage-1 checkpoint")
    add("--out", type=Path, required=True, metavar="RUN", help="new run directory")
    add("--seed", type=int, default=0, help="of the VLA's flow noise (default: %(default)d)")
    add("--pictures", choices=["observation", "cameras"], default="observation",
        help="those that the run's policy saw, or anew from the cameras, at the checkpoint's resolution")  # fmt: skip
    add("--batch", type=int, default=8, help="observations in one pass; 1: bit for bit as a live run (default: 8)")
    add("--robot-config", default="", metavar="YAML", help="robot config; default: the FR3's")
    add("--robot-namespace", default="", help="of the cameras' topics")
    add("--device", default="cpu", help="of torch, such as cuda")
    add("--vla-url", default="", help="ws://host:port of a VLA server")
    add("--threads", type=int, default=1, help="torch threads")
    return result


if __name__ == "__main__":
    sys.exit(main())

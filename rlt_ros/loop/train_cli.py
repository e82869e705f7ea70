"""`rlt train`: learn from stored transitions, without robot and without ROS.

rlt train runs/monday runs/tuesday --out runs/both           as the live runs learned, phase by phase
rlt train runs/monday/checkpoints/000004 --out runs/more --updates 50000 --set bc_beta=0.3
rlt train runs/monday/bag --out runs/again                   the learner of a recorded run, rebuilt from its bag
rlt train runs/monday --out runs/both --resume               what an interrupted one had still to do
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: progress on standard error; the last line of standard output is the run directory. Returns 0 at the
    end, 1 if it cannot be done, 130 if it was interrupted (and has saved).
    """
    args = parser().parse_args(argv)
    # Here and not above: --help needs no torch.
    try:
        from rlt_ros.loop.train import OfflineRun

        run = OfflineRun(args.sources, args.out, args)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: run.interrupt())
        finished = run.run()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"train: {error}", file=sys.stderr)
        return 1
    print(f"train: run directory {args.out}", flush=True)
    return 0 if finished else 130


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("sources", nargs="+", type=Path, metavar="DIR", help="runs, journals, checkpoints or bags")
    result.add_argument("--out", required=True, type=Path, help="new run directory")
    result.add_argument("--resume", action="store_true", help="go on in --out, where an earlier one was interrupted")
    result.add_argument(
        "--updates", type=int, help="all rows first, then so many critic updates (default: what each phase earns)"
    )
    result.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of AgentConfig (default: as in the first source that has a checkpoint)",
    )  # fmt: skip
    result.add_argument("--seed", type=int, help="of networks, noise and sampling (default: as the other settings)")
    result.add_argument("--checkpoint", type=Path, help="Stage-1 checkpoint that the rows must have been made with")
    result.add_argument("--init-weights", type=Path, metavar="FILE", help="policy file to start from")
    result.add_argument(
        "--save-every", type=int, default=10_000, help="critic updates between checkpoints; 0 or less: at the end"
    )
    result.add_argument("--keep", type=int, default=3, help="older checkpoints that stay; 0: all of them (default: 3)")
    return result


if __name__ == "__main__":
    sys.exit(main())

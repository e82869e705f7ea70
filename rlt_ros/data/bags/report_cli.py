"""`rlt bag-report BAG`: what is in a bag: phases and labels, who drove, gaps, losses, rates, latencies.

Exit code 0: the bag could be read. 1: it is damaged; what comes before is told. 2: it cannot be read at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

READ, DAMAGED, UNREADABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    args = parser().parse_args(argv)
    try:
        return _report(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"bag-report: {error}", file=sys.stderr)
        return UNREADABLE


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt bag-report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 directory, or a .mcap or .db3 file")
    result.add_argument("--json", action="store_true", help="print the report as JSON")
    result.add_argument("--plots", type=Path, metavar="DIR", help="write plots as PNG to this directory")
    return result


def _report(args: argparse.Namespace) -> int:
    from rlt_ros.data.bags.bag import Bag
    from rlt_ros.data.bags.survey import survey
    from rlt_ros.data.bags.survey_report import text, to_dict

    with Bag(args.bag) as bag:
        found = survey(bag)
    print(json.dumps(to_dict(found), indent=1) if args.json else text(found), flush=True)
    if args.plots is not None:
        from rlt_ros.data.bags.survey_plots import draw

        for path in draw(found, args.plots):
            print(f"bag-report: {path}", file=sys.stderr)
    return DAMAGED if found.damage else READ


if __name__ == "__main__":
    sys.exit(main())

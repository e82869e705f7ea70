"""`rlt check-dataset`: what a LeRobot dataset holds, and whether Stage 1 may start with it.

Exit code 0: it may. 1: it must not, for the reasons that are printed. 2: the dataset cannot be read, or the command was
called wrongly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rlt_ros.data.check.limits import read_limits
from rlt_ros.robot.config import load_robot

if TYPE_CHECKING:
    from rlt_ros.data.check.meaning import Meaning
    from rlt_ros.data.check.survey import Survey
    from rlt_ros.data.lerobot.reader import DatasetReader

FIT, UNFIT, UNREADABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of the text says whether Stage 1 may start."""
    args = parser().parse_args(argv)
    try:
        survey = _survey(args)
        _print(survey, args)
        if args.pictures:
            _draw(survey, args.pictures)
    except (ImportError, OSError, ValueError) as error:
        print(f"check-dataset: {error}", file=sys.stderr)
        return UNREADABLE
    return UNFIT if any(finding.severity == "error" for finding in survey.findings) else FIT


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt check-dataset", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("dataset", type=Path, metavar="DIR", help="LeRobot dataset, v2.1 or v3.0")
    add("--mapping", default="", help="mapping YAML (default: for datasets that this package wrote)")
    add("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    add("--checkpoint", type=Path, metavar="DIR", help="Stage-1 checkpoint that the dataset shall fit")
    add("--limits", default="", help="YAML of limits that differ from the defaults")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="one limit")
    add("--numbers-only", action="store_true", help="do not decode pictures: minutes become seconds")
    add("--pictures", type=Path, metavar="DIR", help="write contact sheets and ranges as PNG to this directory")
    add("--json", action="store_true", help="print the report as JSON")
    return result


def _survey(args: argparse.Namespace) -> Survey:
    from rlt_ros.data.check.survey import survey
    from rlt_ros.data.lerobot.reader import DatasetReader

    limits = read_limits(args.limits, args.set)
    reader = DatasetReader(args.dataset)
    meaning = _meaning(args, reader)

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done == len(reader) else ""
            print(f"\rcheck-dataset: episode {done}/{len(reader)}", end=end, file=sys.stderr, flush=True)

    return survey(reader, meaning, limits, args.checkpoint, not args.numbers_only, progress)


def _meaning(args: argparse.Namespace, reader: DatasetReader) -> Meaning | None:
    from rlt_ros.data.check.meaning import Meaning
    from rlt_ros.data.lerobot.errors import DatasetError
    from rlt_ros.data.lerobot.mapping import load_mapping, own_mapping

    robot = load_robot(args.robot_config)
    try:
        mapping = load_mapping(args.mapping) if args.mapping else own_mapping(reader.features, str(reader.root))
    except DatasetError:
        return None
    return Meaning(mapping, robot, reader.features, reader.fps)


def _print(survey: Survey, args: argparse.Namespace) -> None:
    from rlt_ros.data.check.report import text, to_dict, verdict

    if args.json:
        print(json.dumps(to_dict(survey), indent=1))
    else:
        print(text(survey), f"\ncheck-dataset: {verdict(survey.findings)}", sep="\n", flush=True)


def _draw(survey: Survey, folder: Path) -> None:
    from rlt_ros.data.check.drawing import draw

    for path in draw(survey, folder):
        print(f"check-dataset: {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

"""`rlt report`: what a run did, as one page: success, learning, who drove, latencies, pictures, settings.

Several runs are compared in one page. The page needs no other file and no network; the plots lie beside it as PNG. A
run that is unfinished, was killed or is damaged gives what there is, and the page says what is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Exit code 0; 2 where a path is no run directory, a package is missing or nothing can be written."""
    args = parser().parse_args(argv)
    try:
        print(_page(args.runs, args.out))
    except (ImportError, OSError, ValueError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run directory")
    result.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: RUN/report; of several runs: ./report)"
    )
    return result


def _page(paths: Sequence[Path], out: Path | None) -> Path:
    from rlt_ros.report.page import write_report
    from rlt_ros.report.run import read_run

    runs = [read_run(path, name) for path, name in zip(paths, names(paths))]
    for run in runs:
        for sentence in run.missing:
            print(f"report: {run.name}: {sentence}", file=sys.stderr)
    return write_report(runs, out or (paths[0] / "report" if len(paths) == 1 else Path("report")))


def names(paths: Sequence[Path]) -> list[str]:
    """A name for each run, as short as tells them apart: the last parts of their paths."""
    parts = [path.resolve().parts for path in paths]
    length = 1
    while length < max(map(len, parts)) and len({part[-length:] for part in parts}) < len(set(parts)):
        length += 1
    return ["/".join(part[-length:]).replace("//", "/") for part in parts]


if __name__ == "__main__":
    sys.exit(main())

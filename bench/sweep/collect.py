"""Gathers the summaries of a sweep into one small file: python -m bench.sweep.collect OUT docs/data/sweep.json"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

KEPT = (
    "base", "base_with_noise", "final", "final_with_noise", "expert", "dither", "moments",
    "robot_time_s", "wall_time_s",
)  # fmt: skip


def collect(out: Path) -> dict[str, dict[str, Any]]:
    """Cell to seed to what its summary says; cells and seeds in order of their names."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(out.glob("*/seed*/summary.json")):
        summary = json.loads(path.read_text())
        if summary.get("interrupted"):
            continue
        cell = found.setdefault(path.parents[1].name, {})
        cell[str(summary["seed"])] = {name: summary[name] for name in KEPT if name in summary}
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="directory that the sweep wrote")
    parser.add_argument("target", type=Path, help="JSON file")
    args = parser.parse_args(argv)
    args.target.parent.mkdir(parents=True, exist_ok=True)
    args.target.write_text(json.dumps(collect(args.out), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

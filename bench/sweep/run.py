"""Runs the cells of `cells.yaml` with several seeds each through `rlt fast`. What is finished is not run again.

python -m bench.sweep.run --out DIR [--checkpoint DIR] [--seeds 1,2,3,4,5] [--minutes 7] [--jobs 2] [CELL ..]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CELLS = Path(__file__).with_name("cells.yaml")
SUMMARY = "summary.json"


@dataclass(frozen=True)
class Run:
    """One training run. directory: finished if it holds a summary."""

    cell: str
    seed: int
    settings: Mapping[str, Any]
    directory: Path

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return (self.directory / SUMMARY).exists()

    def command(self, args: argparse.Namespace) -> list[str]:
        """What to execute."""
        settings = [f"--set={name}={json.dumps(value)}" for name, value in self.settings.items()]
        options = ["--checkpoint", args.checkpoint] if args.checkpoint else []
        # The VLA's own figures are the same for every cell of a seed: those of the default will do.
        options += ["--no-base"] if self.settings else []
        return [
            *(sys.executable, "-m", "rlt_ros", "fast", *options, "--seed", str(self.seed)),
            *("--minutes", str(args.minutes), "--eval-episodes", str(args.eval_episodes)),
            *("--run-dir", str(self.directory), *settings),
        ]

    def execute(self, args: argparse.Namespace) -> bool:
        """Run it from the start; True on success. The log lies beside the run directory."""
        # A run that was interrupted has no summary; half of it is worth nothing in a table.
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        with self.directory.with_suffix(".log").open("w") as log:
            done = subprocess.run(self.command(args), stdout=log, stderr=subprocess.STDOUT)
        return done.returncode == 0 and self.finished


def runs(out: Path, cells: Mapping[str, Mapping[str, Any]], seeds: Sequence[int]) -> list[Run]:
    """All runs, seed by seed: stopped early, every cell has as many seeds as the others."""
    return [Run(cell, seed, cells[cell], out / cell / f"seed{seed}") for seed in seeds for cell in cells]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 if every run has finished."""
    args = _parser().parse_args(argv)
    table = yaml.safe_load(CELLS.read_text())
    cells = {name: table[name] or {} for name in args.cells or table}
    todo = [run for run in runs(args.out, cells, args.seeds) if not run.finished]
    print(f"{len(todo)} runs to do, {args.jobs} at a time")
    failed = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for run, fine in zip(todo, pool.map(lambda run: run.execute(args), todo)):
            failed += not fine
            print(f"{run.cell} seed {run.seed}: {'done' if fine else 'FAILED, see its log'}", flush=True)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    result.add_argument("cells", nargs="*", help="names in cells.yaml (default: all)")
    result.add_argument("--out", type=Path, required=True, help="directory of the results; named again, it goes on")
    result.add_argument("--checkpoint", default="", help="of Stage 1 (default: the demo's, trained if need be)")
    result.add_argument("--seeds", type=_numbers, default=[1, 2, 3, 4, 5], help="default: 1,2,3,4,5")
    result.add_argument("--minutes", type=float, default=7.0, help="practice, minutes of robot time (default: 7)")
    result.add_argument("--eval-episodes", type=int, default=100, help="of each evaluation (default: 100)")
    result.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    return result


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())

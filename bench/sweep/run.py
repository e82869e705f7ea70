"""Runs the cells of a plan with several seeds each through `rlt fast`. What is finished is not run again.

python -m bench.sweep.run [--plan FILE] --out DIR [--checkpoint DIR] [--seeds 1,2,3,4,5] [--jobs 2] [CELL ..]
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

from bench.sweep.plan import Cell, load_plan

CELLS = Path(__file__).with_name("cells.yaml")
SUMMARY = "summary.json"


def is_finished(directory: Path) -> bool:
    """Whether a run directory holds the summary of a run that was not interrupted."""
    path = directory / SUMMARY
    return path.exists() and not json.loads(path.read_text()).get("interrupted")


@dataclass(frozen=True)
class Run:
    """One training run. directory: finished if it holds the summary of a run that was not interrupted. arguments: of
    `rlt fast`, without its seed.
    """

    cell: str
    seed: int
    arguments: tuple[str, ...]
    directory: Path

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return is_finished(self.directory)

    @property
    def command(self) -> list[str]:
        """What to execute."""
        place = ("--seed", str(self.seed), "--run-dir", str(self.directory))
        return [sys.executable, "-m", "rlt_ros", "fast", *self.arguments, *place]

    def execute(self) -> bool:
        """Run it from the start; True on success. The log lies beside the run directory."""
        # Half of a run is worth nothing in a table.
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        with self.directory.with_suffix(".log").open("w") as log:
            done = subprocess.run(self.command, stdout=log, stderr=subprocess.STDOUT)
        return done.returncode == 0 and self.finished


def runs(out: Path, cells: Mapping[str, Cell], seeds: Sequence[int], options: Mapping[str, object]) -> list[Run]:
    """All runs, seed by seed: stopped early, every cell has as many seeds as the others."""
    return [
        Run(name, seed, tuple(cell.arguments(options)), out / name / f"seed{seed}")
        for seed in seeds
        for name, cell in cells.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 if every run has finished."""
    args = _parser().parse_args(argv)
    plan = load_plan(args.plan)
    given = {name: getattr(args, name) for name in ("minutes", "eval_episodes", "checkpoint")}
    options = plan.options | {name: value for name, value in given.items() if value}
    todo = [
        run for run in runs(args.out, plan.chosen(args.cells), args.seeds or plan.seeds, options) if not run.finished
    ]
    print(f"{len(todo)} runs to do, {args.jobs} at a time")
    failed = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for run, fine in zip(todo, pool.map(Run.execute, todo)):
            failed += not fine
            print(f"{run.cell} seed {run.seed}: {'done' if fine else 'FAILED, see its log'}", flush=True)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    result.add_argument("cells", nargs="*", help="names in the plan (default: all)")
    result.add_argument("--plan", type=Path, default=CELLS, help="YAML (default: the settings behind the defaults)")
    result.add_argument("--out", type=Path, required=True, help="directory of the results; named again, it goes on")
    result.add_argument("--checkpoint", default="", help="of Stage 1 (default: the demo's, trained if need be)")
    result.add_argument("--seeds", type=_numbers, help="such as 1,2,3 (default: the plan's)")
    result.add_argument("--minutes", type=float, help="practice, minutes of robot time (default: the plan's)")
    result.add_argument("--eval-episodes", type=int, help="of each evaluation (default: the plan's)")
    result.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    return result


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())

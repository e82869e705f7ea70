"""Evaluates finished runs in the worlds of `worlds.yaml` through `rlt evaluate`. What is finished is not run again.

python -m bench.robustness.run RUN .. --out DIR [--worlds FILE] [--jobs 2]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.sweep.run import is_finished
from rlt_ros.strict import ConfigError, build

WORLDS = Path(__file__).with_name("worlds.yaml")
SEED = 9000
"""Added to a run's seed: no start state of its practice or of its own evaluations."""
EVALUATIONS = "base,final,final_with_noise"


@dataclass(frozen=True)
class World:
    """world: assignments and grid: start states, as `rlt evaluate` takes them."""

    world: tuple[str, ...] = field(default=())
    grid: str = ""

    @property
    def arguments(self) -> list[str]:
        """Words of the command."""
        return [*(["--world", *self.world] if self.world else []), *(["--grid", self.grid] if self.grid else [])]


@dataclass(frozen=True)
class Evaluation:
    """One run directory of `seedN` in one world. out: JSON file that it writes."""

    run: Path
    world: World
    out: Path

    @property
    def command(self) -> list[str]:
        """What to execute."""
        seed = SEED + int(self.run.name.removeprefix("seed"))
        own = ["--evaluations", EVALUATIONS, "--seed", str(seed), "--out", str(self.out)]
        return [sys.executable, "-m", "rlt_ros", "evaluate", str(self.run), *own, *self.world.arguments]

    def execute(self) -> bool:
        """Run it; True on success. The log lies beside the result."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.out.with_suffix(".log").open("w") as log:
            return subprocess.run(self.command, stdout=log, stderr=subprocess.STDOUT).returncode == 0


def load_worlds(path: Path) -> dict[str, World]:
    """Worlds by name. Raises ConfigError."""
    return {
        name: build(World, content, f"{path}: {name}") for name, content in yaml.safe_load(path.read_text()).items()
    }


def evaluations(runs: Sequence[Path], worlds: Mapping[str, World], out: Path) -> list[Evaluation]:
    """All that are not finished. Raises ConfigError where a run directory is not one of a sweep."""
    for run in runs:
        if not run.name.removeprefix("seed").isdigit() or not is_finished(run):
            raise ConfigError(f"{run}: expected a finished run directory seedN, as `make results` leaves it")
    found = [Evaluation(run, world, out / name / f"{run.name}.json") for run in runs for name, world in worlds.items()]
    return [one for one in found if not one.out.exists()]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 if every evaluation has finished."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="run directories of one cell of a sweep")
    parser.add_argument("--out", type=Path, required=True, help="directory of the results; named again, it goes on")
    parser.add_argument("--worlds", type=Path, default=WORLDS, help="YAML")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    args = parser.parse_args(argv)
    todo = evaluations(args.runs, load_worlds(args.worlds), args.out)
    print(f"{len(todo)} evaluations to do, {args.jobs} at a time", flush=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        fine = list(pool.map(Evaluation.execute, todo))
    for one in (one for one, done in zip(todo, fine) if not done):
        print(f"{one.out} FAILED, see its log")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Run directories of the results to small JSON files, one a table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from bench.robustness.run import WORLDS, load_worlds
from bench.sweep.collect import collect
from bench.sweep.run import is_finished

PLANS = Path(__file__).parent
ROBUSTNESS, MACHINES = "robustness", "machines"
WORLD_PARTS = {"base": "VLA", "final": "learned", "final_with_noise": "learned, with noise"}


def gather(out: Path, target: Path) -> None:
    """Every plan in `out`, worlds and machines as a file each in `target`; what has no finished run is left out."""
    target.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {plan: collect(out / plan) for plan in plans()}
    found |= {ROBUSTNESS: gather_worlds(out / ROBUSTNESS), MACHINES: gather_machines(out)}
    for name, data in found.items():
        if data:
            (target / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def plans() -> Iterable[str]:
    """Names of the plans."""
    return sorted(path.stem for path in PLANS.glob("*.yaml"))


def gather_worlds(out: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Cell of `main`, world and seed to scores, worlds in the order of `worlds.yaml`."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    known = list(load_worlds(WORLDS))
    paths = [path for path in out.glob("*/*/seed*.json") if path.parent.name in known]
    for path in sorted(paths, key=lambda path: (path.parents[1].name, known.index(path.parent.name), path.name)):
        scores = {name: score for name, score in json.loads(path.read_text()).items() if name in WORLD_PARTS}
        found.setdefault(path.parents[1].name, {}).setdefault(path.parent.name, {})[path.stem[4:]] = scores
    return found


def gather_machines(out: Path) -> list[dict[str, Any]]:
    """Plan, machine, versions, number of runs and their median wall time [s]; an entry for each that differs."""
    found: dict[str, dict[str, Any]] = {}
    for plan in plans():
        for path in sorted((out / plan).glob("*/seed*/summary.json")):
            if not is_finished(path.parent):
                continue
            told = json.loads((path.parent / "processes" / "fast.jsonl").read_text().splitlines()[0])
            made = {"plan": plan, "machine": told["machine"], "versions": told["versions"]}
            entry = found.setdefault(json.dumps(made), made | {"times": []})
            entry["times"].append(json.loads(path.read_text())["wall_time_s"])
    return [_counted(entry) for entry in found.values()]


def _counted(entry: dict[str, Any]) -> dict[str, Any]:
    times = entry.pop("times")
    return entry | {"runs": len(times), "wall_time_s": round(median(times))}

"""Tables of the results, drawn from the summaries of their runs.

python -m bench.results.report OUT --data docs/data/results --page docs/results.md --plots docs/images

OUT holds a directory for each plan, with cells and seeds in it, and one of `bench.robustness.run` for each cell of
`main`, as `make results` leaves them. Without OUT the tables are drawn from the data again. Each stands between
`<!-- PLAN -->` and `<!-- /PLAN -->` of the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.results.gather import MACHINES, ROBUSTNESS, WORLD_PARTS, gather
from bench.results.plots import course_plot
from bench.sweep.report import Pooled, plot, pooled, put_between, table

STEPS_PER_MINUTE = 20.0 * 60.0
Seeds = Mapping[str, Any]
HEADER = f"| policy | successes | 95 % | median seed | steps | successes a minute |\n{6 * '|---'}|"
NAMES = {"final": "learned, {} min", "final_with_noise": "learned, {} min, with noise"}


def course(seeds: Seeds) -> str:
    """A cell of `main` as Markdown: VLA, best held noise, what was learned at each moment, the expert."""
    rows = [("VLA", _scores(seeds, "base"))]
    sigma = _best_sigma(seeds)
    if sigma is not None:
        rows.append((f"VLA with noise {sigma}, the best", [s["dither"][sigma] for s in seeds.values()]))
    for i, minutes in enumerate(_moments(seeds)):
        for part, name in NAMES.items():
            rows.append((name.format(f"{minutes:g}"), [s["moments"][i][part] for s in seeds.values()]))
    rows.append(("scripted expert", _scores(seeds, "expert")))
    return "\n".join([HEADER, *(_line(name, scores) for name, scores in rows if scores)])


def _line(name: str, scores: Sequence[Mapping[str, Any]]) -> str:
    p, each = pooled(scores), [score["successes"] for score in scores]
    interval = f"{100 * p.low:.0f} to {100 * p.high:.0f} %"
    middle = f"{median(each):g} of {scores[0]['episodes']}"
    return f"| {name} | {p.successes} of {p.episodes} | {interval} | {middle} | {p.steps:.0f} | {throughput(p):.1f} |"


def throughput(p: Pooled) -> float:
    """Successes per minute of robot time in the critical phase; a failure takes the time limit."""
    return p.rate * STEPS_PER_MINUTE / p.steps


def _scores(seeds: Seeds, name: str) -> list[Mapping[str, Any]]:
    return [s[name] for s in seeds.values() if name in s]


def _moments(seeds: Seeds) -> list[float]:
    return [moment["minutes"] for moment in next(iter(seeds.values())).get("moments", ())]


def _best_sigma(seeds: Seeds) -> str | None:
    """Of the noises that every seed has tried, the one with the most successes over all seeds."""
    tried = [set(s.get("dither", {})) for s in seeds.values()]
    common = sorted(set.intersection(*tried)) if tried else []
    return max(common, key=lambda sigma: pooled(s["dither"][sigma] for s in seeds.values()).rate, default=None)


def worlds_table(data: Mapping[str, Mapping[str, Seeds]]) -> str:
    """What was learned in one world, in others: a table for each cell of `main`. data: cell, world, seed."""
    return "\n\n".join(f"`{cell}`:\n\n{_worlds(worlds)}" for cell, worlds in data.items())


def _worlds(worlds: Mapping[str, Seeds]) -> str:
    header = "| world | " + " | ".join(WORLD_PARTS.values()) + f" |\n{'|---' * (1 + len(WORLD_PARTS))}|"
    lines = [header]
    for world, seeds in worlds.items():
        scores = (pooled(s[part] for s in seeds.values()) for part in WORLD_PARTS)
        cells = (f"{p.successes} of {p.episodes}, {p.steps:.0f} steps" for p in scores)
        lines.append(f"| {world.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines)


def machines_table(data: Sequence[Mapping[str, Any]]) -> str:
    """What the runs of each plan ran on."""
    lines = [f"| plan | runs | minutes each, median | machine | versions |\n{5 * '|---'}|"]
    for entry in data:
        versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
        where = entry["machine"]
        machine = f"{where['processor']}, {where['cores']} cores, {where['memory_gib']} GiB"
        lines.append(
            f"| {entry['plan']} | {entry['runs']} | {entry['wall_time_s'] / 60:.1f} | {machine} | {versions} |"
        )
    return "\n".join(lines)


def _best_dither(seeds: Seeds) -> float | None:
    sigma = _best_sigma(seeds)
    return None if sigma is None else pooled(s["dither"][sigma] for s in seeds.values()).rate


def page_of(plan: str, data: Mapping[str, Any]) -> str:
    """What stands between the markers of a plan."""
    if plan == ROBUSTNESS:
        return worlds_table(data)
    if plan == MACHINES:
        return machines_table(data)
    if plan == "main":
        return "\n\n".join(f"`{cell}`, {len(seeds)} seeds:\n\n{course(seeds)}" for cell, seeds in data.items())
    return table(data)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", help="directory that `make results` wrote")
    parser.add_argument("--data", type=Path, required=True, help="directory of small JSON files, one a plan")
    parser.add_argument("--page", type=Path, help="Markdown file with markers")
    parser.add_argument("--plots", type=Path, help="directory for results-PLAN.png")
    args = parser.parse_args(argv)
    if args.out:
        gather(args.out, args.data)
    for path in sorted(args.data.glob("*.json")):
        data = json.loads(path.read_text())
        text = page_of(path.stem, data)
        print(f"{path.stem}\n\n{text}\n")
        if args.page:
            put_between(args.page, path.stem, text)
        if args.plots:
            draw(path.stem, data, args.plots / f"results-{path.stem}.png")
    return 0


def draw(plan: str, data: Mapping[str, Any], path: Path) -> None:
    """The plan's plot, if it has one."""
    if plan == "main":
        course_plot(
            data, path, {cell: rate for cell, seeds in data.items() if (rate := _best_dither(seeds)) is not None}
        )
    elif plan not in (ROBUSTNESS, MACHINES):
        plot(data, path)


if __name__ == "__main__":
    sys.exit(main())

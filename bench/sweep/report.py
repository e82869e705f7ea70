"""Draws a sweep.

python -m bench.sweep.report docs/data/sweep.json --table docs/learning.md --plot docs/images/sweep.png

The table stands between `<!-- sweep -->` and `<!-- /sweep -->`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.loop.report import success_interval

NAME = "sweep"
HEADER = f"| cell | seeds | deterministic | lowest seed | steps | with noise | lowest seed | steps |\n{8 * '|---'}|"


@dataclass(frozen=True)
class Pooled:
    """One evaluation over the seeds of a cell. low, high: 95 % Wilson interval of the rate. worst: of one seed."""

    successes: int
    episodes: int
    steps: float
    low: float
    high: float
    worst: float

    @property
    def rate(self) -> float:
        """Share of successes."""
        return self.successes / self.episodes


def pooled(scores: Iterable[Mapping[str, Any]]) -> Pooled:
    """Counts added up; mean steps (failures count as the time limit) weighted by episodes."""
    scores = list(scores)
    successes, episodes = sum(s["successes"] for s in scores), sum(s["episodes"] for s in scores)
    low, high = success_interval(successes, episodes)
    steps = sum(s["mean_steps"] * s["episodes"] for s in scores) / episodes
    worst = min(s["successes"] / s["episodes"] for s in scores)
    return Pooled(successes, episodes, steps, low, high, worst)


def table(data: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown, best deterministic rate first."""
    rows = {cell: [pooled(s[part] for s in seeds.values()) for part in PARTS] for cell, seeds in data.items()}
    ordered = sorted(rows, key=lambda cell: (-rows[cell][0].rate, rows[cell][0].steps))
    lines = (f"| {cell} | {len(data[cell])} | {' | '.join(map(_cells, rows[cell]))} |" for cell in ordered)
    return "\n".join([HEADER, *lines])


PARTS = ("final", "final_with_noise")


def _cells(p: Pooled) -> str:
    share = f"{100 * p.rate:.0f} % ({100 * p.low:.0f} to {100 * p.high:.0f})"
    return f"{share} | {100 * p.worst:.0f} % | {p.steps:.0f}"


def plot(data: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Success of every cell with its interval, and each seed as a point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 0.42 * len(data) + 1.2), layout="constrained")
    cells = sorted(data, key=lambda cell: pooled(s["final"] for s in data[cell].values()).rate)
    for offset, part, colour in ((0.14, "final", "tab:blue"), (-0.14, "final_with_noise", "tab:orange")):
        for height, cell in enumerate(cells):
            p = pooled(s[part] for s in data[cell].values())
            axes.plot([100 * p.low, 100 * p.high], [height + offset] * 2, color=colour, linewidth=2)
            each = [100 * s[part]["successes"] / s[part]["episodes"] for s in data[cell].values()]
            axes.plot(each, [height + offset] * len(each), ".", color=colour, alpha=0.5, markersize=5)
            axes.plot(100 * p.rate, height + offset, "|", color=colour, markersize=10, label=_label(part, height))
    axes.set_yticks(range(len(cells)), cells)
    axes.set_xlabel("successes of fresh episodes, % (line: 95 % interval of the pooled rate; points: seeds)")
    axes.legend(loc="upper left")
    axes.grid(axis="x", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _label(part: str, height: int) -> str:
    names = {"final": "deterministic", "final_with_noise": "with held noise"}
    return names[part] if height == 0 else "_nolegend_"


def put_between(path: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`. Raises ValueError without these markers."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = path.read_text().partition(begin)
    _, marker, after = rest.partition(end)
    if not marker:
        raise ValueError(f"{path}: no {begin} followed by {end}")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="what collect.py wrote")
    parser.add_argument("--table", type=Path, help="Markdown file with the two markers")
    parser.add_argument("--plot", type=Path, help="PNG")
    args = parser.parse_args(argv)
    data = json.loads(args.data.read_text())
    print(table(data))
    if args.table:
        put_between(args.table, NAME, table(data))
    if args.plot:
        plot(data, args.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())

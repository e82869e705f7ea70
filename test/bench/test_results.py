"""The results' tables are drawn from summaries, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.results.gather import gather
from bench.results.report import course, main, throughput
from bench.sweep.report import pooled
from rlt_ros.loop.processes import Life, hardware, versions

DOCS = Path(__file__).parents[2] / "docs"


def score(successes: int, steps: float = 50.0, episodes: int = 100) -> dict[str, Any]:
    return {"episodes": episodes, "successes": successes, "invalid": 0, "mean_steps": steps}


def summary(seed: int, learned: int) -> dict[str, Any]:
    then = {"minutes": 19.0, "final": score(learned, 30.0), "final_with_noise": score(learned - 2, 30.0)}
    return {
        "seed": seed,
        "base": score(35, 80.0),
        "base_with_noise": score(60, 70.0),
        "final": score(learned, 30.0),
        "final_with_noise": score(learned - 2, 30.0),
        "expert": score(100, 20.0),
        "dither": {"0.1": score(60, 60.0), "0.3": score(40 + seed, 70.0)},
        "moments": [then],
        "wall_time_s": 570.0,
    }


def test_the_course_of_learning_stands_between_the_vla_and_the_expert() -> None:
    lines = course({"1": summary(1, 98), "2": summary(2, 94), "3": summary(3, 100)}).splitlines()
    assert lines[2].startswith("| VLA | 105 of 300 | 30 to 41 % | 35 of 100 | 80 | 5.2 |")
    assert lines[3].startswith("| VLA with noise 0.1, the best | 180 of 300 |")
    assert lines[4].startswith("| learned, 19 min | 292 of 300 | 95 to 99 % | 98 of 100 | 30 | 38.9 |")
    assert lines[5].startswith("| learned, 19 min, with noise | 286 of 300 |")
    assert lines[6].startswith("| scripted expert | 300 of 300 |") and len(lines) == 7


def test_what_was_not_evaluated_has_no_line() -> None:
    bare = {"seed": 1, "final": score(90), "final_with_noise": score(90), "base": score(30)}
    assert [line.split(" | ")[0] for line in course({"1": bare}).splitlines()[2:]] == ["| VLA"]


def test_throughput_counts_a_failure_s_time() -> None:
    assert throughput(pooled([score(50, 60.0)])) == pytest.approx(10.0)


def test_what_was_learned_in_one_world_is_shown_in_others(tmp_path: Path) -> None:
    for world, learned in (("grid_6x5", 30), ("as_trained", 97), ("unknown", 5)):
        for seed in (101, 102):
            place = tmp_path / "out/robustness/peg" / world / f"seed{seed}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            episodes = 30 if world == "grid_6x5" else 100
            scores = {name: score(learned, episodes=episodes) for name in ("final", "final_with_noise")}
            place.write_text(json.dumps({"seed": 9000 + seed, "world": [], "base": score(20, 80.0, episodes)} | scores))
    gather(tmp_path / "out", tmp_path / "data")
    page = tmp_path / "page.md"
    page.write_text("<!-- robustness -->\n<!-- /robustness -->\n")
    assert main(["--data", str(tmp_path / "data"), "--page", str(page)]) == 0
    lines = page.read_text().splitlines()
    assert lines[1] == "`peg`:" and lines[3] == "| world | VLA | learned | learned, with noise |"
    assert lines[5] == "| as trained | 40 of 200, 80 steps | 194 of 200, 50 steps | 194 of 200, 50 steps |"
    assert lines[6].startswith("| grid 6x5 | 40 of 60, 80 steps | 60 of 60, 50 steps |") and len(lines) == 8


def test_runs_become_data_and_data_a_page(tmp_path: Path) -> None:
    for plan, cell in (("main", "peg"), ("ablations", "peg_no_z")):
        for seed in (1, 2):
            place = tmp_path / "out" / plan / cell / f"seed{seed}"
            place.mkdir(parents=True)
            (place / "summary.json").write_text(json.dumps(summary(seed, 97)))
            Life(place, "fast", {}).ended("done")
    gather(tmp_path / "out", tmp_path / "data")
    assert sorted(path.stem for path in (tmp_path / "data").iterdir()) == ["ablations", "machines", "main"]
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("main", "ablations", "machines")))
    plots = tmp_path / "plots"
    assert main(["--data", str(tmp_path / "data"), "--page", str(page), "--plots", str(plots)]) == 0
    assert {path.name for path in plots.iterdir()} == {"results-main.png", "results-ablations.png"}
    text = page.read_text()
    assert "`peg`, 2 seeds:" in text and "| learned, 19 min | 194 of 200 |" in text and "| peg_no_z | 2 | 97 %" in text
    assert f"| main | 2 | 9.5 | {hardware()['processor']}, " in text and f"python {versions()['python']}" in text


def test_the_page_is_drawn_from_its_data(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text((DOCS / "results.md").read_text())
    assert main(["--data", str(DOCS / "data" / "results"), "--page", str(page)]) == 0
    assert page.read_text() == (DOCS / "results.md").read_text()

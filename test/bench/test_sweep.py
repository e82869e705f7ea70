"""The sweep: what is run, what is gathered, what is drawn from it."""

from __future__ import annotations

import json

import pytest
import yaml

from bench.sweep.collect import collect
from bench.sweep.report import BEGIN, END, plot, pooled, put_table, table
from bench.sweep.run import CELLS, runs
from rlt_ros.loop.settings import from_arguments, settings


def summary(seed: int, successes: int, steps: float) -> dict:
    score = {"episodes": 100, "successes": successes, "mean_steps": steps}
    parts = dict.fromkeys(("base", "base_with_noise", "final", "final_with_noise"), score)
    return {"seed": seed, "robot_time_s": 420.0, "wall_time_s": 150.0, "rows": 3, **parts}


def test_every_cell_is_made_of_settings_that_exist():
    table = yaml.safe_load(CELLS.read_text())
    assert {"default", "residual", "utd_1", "chunk_5", "full_windows"} <= set(table)
    for cell in table.values():
        arguments = from_arguments(f"{name}={yaml.safe_dump(value).splitlines()[0]}" for name, value in cell.items())
        settings([arguments], {})


def test_runs_go_seed_by_seed_and_finished_ones_are_known(tmp_path):
    found = runs(tmp_path, {"a": {}, "b": {"utd": 1}}, [1, 2])
    assert [(run.cell, run.seed) for run in found] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert not any(run.finished for run in found)
    found[2].directory.mkdir(parents=True)
    (found[2].directory / "summary.json").write_text("{}")
    assert [run.finished for run in found] == [False, False, True, False]


def test_summaries_become_a_table_and_a_plot(tmp_path):
    for cell, seed, successes in (("good", 1, 98), ("good", 2, 94), ("bad", 1, 40)):
        path = tmp_path / cell / f"seed{seed}" / "summary.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(summary(seed, successes, 30.0)))
    data = collect(tmp_path)
    assert sorted(data["good"]) == ["1", "2"] and "rows" not in data["good"]["1"]
    lines = table(data).splitlines()
    assert lines[2].startswith("| good | 2 | 96 % (92 to 98) | 94 % | 30 |") and lines[3].startswith("| bad | 1 | 40 %")
    plot(data, tmp_path / "images" / "sweep.png")
    assert (tmp_path / "images" / "sweep.png").read_bytes().startswith(b"\x89PNG")


def test_seeds_are_pooled_by_their_episodes():
    found = pooled([summary(1, 90, 20.0)["final"], {"episodes": 300, "successes": 300, "mean_steps": 40.0}])
    assert (found.successes, found.episodes, found.steps, found.worst) == (390, 400, 35.0, 0.9)
    assert found.low < found.rate == 0.975 < found.high < 1.0


def test_the_table_stands_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    put_table(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="page.md: no <!-- sweep -->"):
        put_table(page, "new")

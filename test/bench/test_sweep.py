"""The sweep: what is run, what is gathered, what is drawn from it."""

from __future__ import annotations

import json

import pytest

from bench.sweep.collect import collect
from bench.sweep.plan import Cell, load_plan
from bench.sweep.report import plot, pooled, put_between, table
from bench.sweep.run import CELLS, runs
from rlt_ros.loop.fast import parser
from rlt_ros.loop.settings import from_arguments, settings
from rlt_ros.strict import ConfigError

PLANS = [CELLS, *sorted((CELLS.parents[1] / "results").glob("*.yaml"))]


def summary(seed: int, successes: int, steps: float) -> dict:
    score = {"episodes": 100, "successes": successes, "mean_steps": steps}
    parts = dict.fromkeys(("base", "base_with_noise", "final", "final_with_noise"), score)
    return {"seed": seed, "robot_time_s": 420.0, "wall_time_s": 150.0, "rows": 3, **parts}


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_cell_is_made_of_options_and_settings_that_exist(path):
    plan = load_plan(path)
    assert plan.cells
    for cell in plan.cells.values():
        args = parser().parse_args(cell.arguments(plan.options))
        assert args.no_base is bool(cell.set) and args.minutes > 0
        settings([from_arguments(args.set)], {})


def test_results_come_from_seeds_that_no_setting_was_chosen_with():
    sweep, *results = (set(load_plan(path).seeds) for path in PLANS)
    assert sweep == {1, 2, 3, 4, 5}
    assert results and all(len(seeds) >= 5 and not seeds & sweep for seeds in results)


def test_a_cell_s_own_options_come_before_those_of_all():
    cell = Cell({"utd": 1}, {"minutes": 19, "moments": [7, 19], "exact": False})
    words = ["--minutes", "19", "--expert", "--moments", "7,19", "--no-base", "--set=utd=1"]
    assert cell.arguments({"minutes": 7, "expert": True}) == words


def test_a_plan_that_makes_no_sense_is_refused(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("cells: {a: {settings: {utd: 1}}}")
    with pytest.raises(ConfigError, match=r"cells.a: unknown key 'settings'; known are set, options"):
        load_plan(path)
    with pytest.raises(ConfigError, match="unknown cell 'defualt'; known are default"):
        load_plan(CELLS).chosen(["defualt"])


def test_runs_go_seed_by_seed_and_finished_ones_are_known(tmp_path):
    found = runs(tmp_path, {"a": Cell(), "b": Cell({"utd": 1})}, [1, 2], {"minutes": 7})
    assert [(run.cell, run.seed) for run in found] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert not any(run.finished for run in found)
    found[2].directory.mkdir(parents=True)
    (found[2].directory / "summary.json").write_text("{}")
    (found[3].directory).mkdir(parents=True)
    (found[3].directory / "summary.json").write_text('{"interrupted": true}')
    assert [run.finished for run in found] == [False, False, True, False]
    place = ["--seed", "2", "--run-dir", str(tmp_path / "b" / "seed2")]
    assert found[3].command[2:] == ["rlt_ros", "fast", "--minutes", "7", "--no-base", "--set=utd=1", *place]


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
    page.write_text("before\n<!-- sweep -->\nold\n<!-- /sweep -->\nafter\n")
    put_between(page, "sweep", "new")
    assert page.read_text() == "before\n<!-- sweep -->\nnew\n<!-- /sweep -->\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="page.md: no <!-- sweep -->"):
        put_between(page, "sweep", "new")

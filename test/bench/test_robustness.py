"""Learned policies in other worlds: what is run, and that each world exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.robustness.run import WORLDS, World, evaluations, load_worlds
from rlt_ros.loop.evaluate_cli import parser
from rlt_ros.sim.tasks import TASKS, changed_world
from rlt_ros.strict import ConfigError


def finished(folder: Path, seed: int) -> Path:
    run = folder / "peg" / f"seed{seed}"
    run.mkdir(parents=True)
    (run / "summary.json").write_text("{}")
    return run


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("name", "world"), load_worlds(WORLDS).items(), ids=lambda value: str(value)[:20])
def test_every_world_can_be_made_of_every_task(task: str, name: str, world: World) -> None:
    changed = changed_world(task, world.world)
    assert (changed != TASKS[task].sim) is bool(world.world), name


def test_a_run_is_evaluated_with_start_states_of_its_own_in_each_world(tmp_path: Path) -> None:
    run = finished(tmp_path, 101)
    worlds = {"as_trained": World(), "far": World(("random.hole=0.03",), "6x5")}
    found = evaluations([run], worlds, tmp_path / "out")
    assert [one.out.relative_to(tmp_path).as_posix() for one in found] == [
        "out/as_trained/seed101.json", "out/far/seed101.json",
    ]  # fmt: skip
    args = parser().parse_args(found[1].command[4:])
    assert (args.policy, args.seed, args.world, args.grid.size) == (run, 9101, ["random.hole=0.03"], 30)
    assert args.evaluations == ("base", "final", "final_with_noise") and args.out == found[1].out
    found[0].out.parent.mkdir(parents=True)
    found[0].out.write_text("{}")
    assert [one.out.parent.name for one in evaluations([run], worlds, tmp_path / "out")] == ["far"]


def test_what_is_no_finished_run_is_refused(tmp_path: Path) -> None:
    run = finished(tmp_path, 101)
    (run / "summary.json").unlink()
    with pytest.raises(ConfigError, match="expected a finished run directory seedN"):
        evaluations([run], {"as_trained": World()}, tmp_path / "out")


def test_an_unknown_word_in_the_worlds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "worlds.yaml"
    path.write_text("far: {wolrd: [random.hole=0.03]}")
    with pytest.raises(ConfigError, match="far: unknown key 'wolrd'; known are world, grid"):
        load_worlds(path)

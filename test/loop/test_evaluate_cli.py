"""`rlt evaluate`, the real command, on a run of `rlt fast`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_fast import PARAMETERS
from test_fast import checkpoint as checkpoint

from rlt_ros.data.contract import read_contract
from rlt_ros.loop.evaluate_cli import main
from rlt_ros.loop.fast import main as fast
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.weights import pack
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.tasks import changed_world
from rlt_ros.strict import ConfigError

pytest.importorskip("torch")
pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def run(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a short practice; its scripted person gives up early."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "params.yaml").write_text(PARAMETERS)
    options = ["--checkpoint", str(checkpoint), "--params-file", str(folder / "params.yaml"), "--minutes", "0.1"]
    assert fast([*options, "--eval-episodes", "0", "--run-dir", str(folder / "run")]) == 0
    return folder / "run"


QUICK = ["--episodes", "1", "--set", "fail_after=20", "--set", "time_limit=20"]


def test_a_policy_of_a_run_is_evaluated_in_its_own_world_and_in_a_changed_one(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run), *QUICK, "--out", str(tmp_path / "own.json")]) == 0
    said = capsys.readouterr()
    assert "learned nothing" not in said.err
    lines = said.out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["base VLA", "learned actor"] and " of 1 (" in lines[1]
    own = json.loads((tmp_path / "own.json").read_text())
    assert own["final"]["episodes"] == own["base"]["episodes"] == 1 and own["task"] == "peg"
    changed = ["--world", "random.hole=0.03", "peg.clearance=0.0005", "--evaluations", "final", "--json"]
    assert main([str(run / "policy.safetensors"), *QUICK, *changed]) == 0
    assert json.loads(capsys.readouterr().out)["world"] == ["random.hole=0.03", "peg.clearance=0.0005"]


def test_a_policy_that_has_learned_nothing_is_named(
    run: Path, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = read_contract(checkpoint)
    agent = Agent(AgentConfig(chunk=contract.chunk), Dims(*contract.sizes))
    (tmp_path / "policy.safetensors").write_bytes(pack(agent, 1, contract.fingerprint))
    arguments = [str(tmp_path / "policy.safetensors"), *QUICK, "--checkpoint", str(checkpoint)]
    assert main([*arguments, "--evaluations", "final"]) == 0
    assert "policy.safetensors has learned nothing from its critics yet" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_result(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for seed in ("4", "4"):
        assert main([str(run), *QUICK, "--evaluations", "final_with_noise", "--seed", seed, "--json"]) == 0
        results.append(capsys.readouterr().out)
    assert results[0] == results[1]


def test_a_grid_gives_an_episode_to_each_point_the_same_for_every_seed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for seed in ("4", "5"):
        assert main([str(run), *QUICK, "--evaluations", "final", "--grid", "2x2", "--seed", seed, "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert [result["final"]["episodes"] for result in results] == [4, 4]
    assert results[0]["grid"] == "2x2"
    with pytest.raises(SystemExit):
        main([str(run), "--grid", "6"])
    assert "grid is '6'; expected COLUMNSxROWS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--evaluations", "last"], "evaluations are last; expected some of base"),
        (["--world", "random.holes=1"], "random.holes=1: expected SECTION.NAME=VALUE"),
        (["--world", "peg.clearance=1.0"], "peg.clearance is 1.0 m; expected 0 to half the peg's width, 0.008 m"),
        (["--task", "yaw_mark"], "task of the checkpoint and of the run"),
        (["--set", "utdd=1"], "unknown setting 'utdd'"),
    ],
)
def test_what_cannot_be_evaluated_is_said(
    run: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run), *arguments]) == 1
    assert reason in capsys.readouterr().err


def test_a_place_without_a_policy_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "policy.safetensors: no such file; expected a run directory" in capsys.readouterr().err
    (tmp_path / "policy.safetensors").write_bytes(b"")
    assert main([str(tmp_path)]) == 1
    assert "--checkpoint DIR" in capsys.readouterr().err


def test_a_changed_world_differs_in_what_was_named_only() -> None:
    changed = changed_world("peg", ["random.friction=[0.1, 0.2]", "sensors.pixel_noise=8"])
    assert (changed.random.friction, changed.sensors.pixel_noise) == ((0.1, 0.2), 8.0)
    assert changed.board == SimConfig().board
    for wrong in ("random", "random=1", "random.hole", "random.hole.x=1", "=1"):
        with pytest.raises(ConfigError, match="expected SECTION.NAME=VALUE"):
            changed_world("peg", [wrong])

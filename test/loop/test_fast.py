"""`rlt fast`, the real command: the simulated Franka, a VLA and token that nobody trained, and the learner."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlt_ros.loop.fast import main
from rlt_ros.rl.trainer import EXIT_CODE
from rlt_ros.robot.config import load_robot
from rlt_ros.types import PROPRIO_NAMES

torch = pytest.importorskip("torch")
pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Stage-1 checkpoint with random weights."""
    from rlt_ros.data.norm import NormStats
    from rlt_ros.token.checkpoint import Stage1, save_stage1
    from rlt_ros.token.config import PRESETS
    from rlt_ros.token.model import RLToken
    from rlt_ros.token.stage1 import make_contract
    from rlt_ros.vla.tiny import TinyVLA

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config, robot = PRESETS["smoke"], load_robot()
    vla = TinyVLA(config.vla)
    token = RLToken(config.token, vla.width, vla.kinds)
    norm = NormStats.of(np.random.default_rng(0).normal(size=(50, len(PROPRIO_NAMES))), PROPRIO_NAMES)
    path = tmp_path_factory.mktemp("stage1") / "untrained"
    save_stage1(path, Stage1(make_contract(config, robot, norm, vla, token), norm, vla, token), {})
    return path


PARAMETERS = """
/**/learner:
  ros__parameters: {warmup_episodes: 1, warmup_rows: 10, batch: 4, utd: 1, bc_pretrain_updates: 5, actor_after: 2,
    gate_rows: 10, gate_updates: 2, gate_outcomes: none, gate_reference_error: 9.0, nice: 10}
/**/teleop:
  ros__parameters: {fail_after: 20, time_limit: 20}
"""


@pytest.fixture()
def arguments(checkpoint: Path, tmp_path: Path) -> list[str]:
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    return ["--checkpoint", str(checkpoint), "--params-file", str(tmp_path / "params.yaml"), "--minutes", "0.1"]


def test_a_run_ends_with_the_summary_and_files_of_the_graph(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "run"
    wishes = ["--eval-episodes", "1", "--moments", "0.03", "--dither", "0.3", "--expert"]
    assert main([*arguments, *wishes, "--run-dir", str(run_dir), "--json", "--set", "bc_beta=0.2", "--seed", "7"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert summary == json.loads((run_dir / "summary.json").read_text())
    assert summary["seed"] == 7 and summary["interrupted"] is False
    stages = ("base", "base_with_noise", "final", "final_with_noise", "expert")
    assert [summary[name]["episodes"] for name in stages] == [1] * 5
    assert summary["dither"]["0.3"]["episodes"] == summary["moments"][0]["final"]["episodes"] == 1
    rows = summary["transitions"]["published"]
    assert rows == summary["transitions"]["received"] == summary["updates"]["critic"] > 10
    assert summary["gate_open"] is True and summary["driven"]["actor"] > 0
    assert printed.err.startswith("practice ") and "real time" in printed.err
    chosen = json.loads((run_dir / "settings.json").read_text())
    assert chosen["agent"]["bc_beta"] == 0.2 and chosen["agent"]["batch"] == 4 and chosen["agent"]["seed"] == 7
    check_that_it_can_go_on(run_dir, chosen, summary)


def check_that_it_can_go_on(run_dir: Path, chosen: dict, summary: dict) -> None:
    from rlt_ros.rl.checkpoint import latest, resume
    from rlt_ros.rl.config import AgentConfig, Dims
    from rlt_ros.rl.journal import Journal
    from rlt_ros.rl.learner import Learner
    from rlt_ros.rl.weights import read_policy_file
    from rlt_ros.strict import build

    learner = Learner(build(AgentConfig, chosen["agent"], "agent"), Dims(z=64), chosen["contract"], 5.0)
    resume(learner, iter(Journal(run_dir / "transitions")), latest(run_dir / "checkpoints"))
    assert learner.rows == summary["transitions"]["published"]
    assert learner.agent.critic_updates == summary["updates"]["critic"]
    assert read_policy_file(run_dir / "policy.safetensors", chosen["contract"]).version == learner.weights_version
    assert list((run_dir / "tensorboard").glob("events.*"))


def test_without_a_run_directory_nothing_is_written(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main([*arguments, "--minutes", "0.02", "--eval-episodes", "0"]) == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert "learned actor " in capsys.readouterr().out


def test_a_chunk_shorter_than_the_checkpoints_is_practised_and_a_longer_one_than_the_horizon_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--eval-episodes", "0", "--json", "--minutes", "0.02"]
    assert main([*arguments, *short, "--set", "chunk=5"]) == 0
    assert json.loads(capsys.readouterr().out)["rows_dropped"] == {}
    assert main([*arguments, *short, "--set", "chunk=99"]) == 1
    assert "chunk is 99; the VLA of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (["--set", "utdd=3"], "unknown setting 'utdd'"),
        (["--moments", "9"], "expected minutes above 0 and up to --minutes 0.1"),
        (["--run-dir", "."], "exists already"),
        (["--params-file", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--task", "yaw_mark"], "task of the checkpoint and of the run: 'peg' here, 'yaw_mark' there"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    arguments: list[str], option: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *option]) == 1
    assert reason in capsys.readouterr().err


def test_training_that_fails_ends_the_run_with_its_reason(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "run"
    assert main([*arguments, "--run-dir", str(run_dir), "--set", "learning_rate=1e30"]) == EXIT_CODE != 0
    printed = capsys.readouterr()
    assert "training failed: Diverged: " in printed.err and printed.out == ""
    assert not (run_dir / "summary.json").exists() and not (run_dir / "checkpoints").exists()


def test_ctrl_c_ends_a_run_with_what_there_is(arguments: list[str], tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "rlt_ros",
        "fast",
        *arguments,
        "--minutes",
        "30",
        "--run-dir",
        str(run_dir),
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = iter(process.stderr.readline, "")
    assert any("practice" in line for line in lines), "practice begins"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    summary = json.loads(out)
    assert summary["interrupted"] is True and summary["final"]["episodes"] == 0
    assert summary == json.loads((run_dir / "summary.json").read_text())
    assert (run_dir / "checkpoints" / "000001" / "state.json").exists()

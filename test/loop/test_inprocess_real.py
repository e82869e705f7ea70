"""The loop with the simulated Franka, a VLA and token that nobody trained, and the learner fit together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.loop.inprocess import main
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


def test_a_checkpoint_of_another_task_is_refused_before_the_run(checkpoint: Path) -> None:
    with pytest.raises(ContractMismatch, match="'peg' here, 'yaw_mark' there"):
        main(["--checkpoint", str(checkpoint), "--task", "yaw_mark", "--minutes", "0.1"])


def test_a_short_session_runs_to_its_summary(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--checkpoint", str(checkpoint), "--minutes", "0.15", "--eval-episodes", "1", "--report-every", "1"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert [summary[name]["episodes"] for name in ("base", "base_with_noise", "final")] == [1, 1, 1]
    assert summary["practice"]["episodes"] >= 1
    assert summary["rows"] >= 49 * summary["practice"]["episodes"]
    assert set(summary["rows_dropped"]) == {"unrecorded"}
    assert summary["updates"] == {"critic": 0, "actor": 0}, "twenty warm-up episodes come first"
    assert summary["driven"]["vla"] > 180 and "actor" not in summary["driven"]
    assert printed.err.startswith("practice ")

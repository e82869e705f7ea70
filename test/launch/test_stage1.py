"""`ros2 launch stage1.launch.py`: the same as `rlt stage1`, and its end is the launch's end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from graph import new_domain

from rlt_ros.token.checkpoint import load_stage1
from rlt_ros.token.stage1_cli import parser

ROOT = Path(__file__).parents[2]
LAUNCH = ROOT / "launch" / "stage1.launch.py"
SMALL = {
    "demonstrations": 3,
    "vla": {"width": 32, "layers": 1, "flow_layers": 1, "image_size": 32},
    "token": {"dim": 8, "width": 32, "layers": 1},
    "fit_vla": {"steps": 300, "batch": 8},
    "fit_token": {"steps": 10, "batch": 8},
}


@pytest.fixture()
def config(tmp_path: Path) -> Path:
    content = {"output": str(tmp_path / "stage1"), "learn": SMALL, "run": {"save_every": 20, "tensorboard": False}}
    path = tmp_path / "stage1.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def launched(*arguments: str) -> subprocess.Popen:
    env = {**os.environ, "ROS_DOMAIN_ID": str(new_domain())}
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(["ros2", "launch", str(LAUNCH), *arguments], env=env, start_new_session=True, **given)


def test_interrupted_and_resumed(config: Path, tmp_path: Path) -> None:
    first = launched(f"config:={config}")
    for line in first.stdout:
        if "stage1: vla " in line and any(tmp_path.rglob("vla-*")):
            os.killpg(first.pid, signal.SIGINT)
            break
    rest, _ = first.communicate(timeout=60)
    assert "--resume goes on from the snapshots" in rest
    assert not (tmp_path / "stage1").exists()
    second = launched(f"config:={config}", "resume:=true", "token:=trained")
    output, _ = second.communicate(timeout=300)
    assert second.returncode == 0, output
    assert f"stage1: checkpoint at {tmp_path / 'stage1'}" in output
    load_stage1(tmp_path / "stage1")


def test_a_failed_training_is_a_failed_launch(tmp_path: Path) -> None:
    launch = launched(f"config:={tmp_path / 'none.yaml'}")
    output, _ = launch.communicate(timeout=60)
    assert launch.returncode == 1
    assert "none.yaml: cannot be read" in output and "stage1 failed with exit code 1" in output


def test_its_arguments_are_those_of_the_command_and_documented() -> None:
    shown = subprocess.run(["ros2", "launch", str(LAUNCH), "--show-args"], capture_output=True, text=True, timeout=60)
    names = re.findall(r"^\s+'(\w+)':", shown.stdout, re.MULTILINE)
    options = {action.dest for action in parser()._actions} - {"help", "cache", "vla_from"}
    assert set(names) == options | {"launcher"}
    table = (ROOT / "docs" / "stage1.md").read_text().split("## With `ros2 launch`")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == names

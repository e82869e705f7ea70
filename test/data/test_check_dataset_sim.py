"""From the simulator to the check: demonstrations that `rlt demonstrate` recorded may be used for Stage 1."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("mujoco")


def rlt(*arguments):
    return subprocess.run([sys.executable, "-m", "rlt_ros", *arguments], capture_output=True, text=True, timeout=300)


def test_simulated_demonstrations_may_be_used(tmp_path):
    root = str(tmp_path / "set")
    made = rlt("demonstrate", "--episodes", "3", "--seed", "5", "--size", "64", "--video", "--out", root)
    assert made.returncode == 0, made.stderr
    checked = rlt("check-dataset", root, "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    content = json.loads(checked.stdout)
    assert content["stage1_may_start"] and content["findings"] == []
    assert len(content["episodes"]) == 3 and {len(e["longest_same_picture"]) for e in content["episodes"]} == {2}

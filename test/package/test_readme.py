"""The README is true: its commands are those that tests run, its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

RUN_BY = {
    "make demo": "test/launch/test_make.py",
    'make demo ARGS="practice_minutes:=2 eval_episodes:=20 seed:=1 run_dir:=runs/short"': "test/launch/test_make.py",
    "standalone/run rlt fast --moments 7,19 --eval-episodes 100 --dither 0.05,0.1,0.2,0.3 --expert --seed 1 --run-dir "
    "runs/fast": "test/loop/test_fast.py",
    "make test": ".ci/run",
    "standalone/run ros2 launch rlt_ros collect.launch.py out:=demos episodes:=50 "
    "keep_failures:=true": "test/launch/test_collect.py",
    "standalone/run rlt check-dataset demos --pictures demos-pictures": "test/data/test_check_dataset_cli.py",
    "standalone/run rlt stage1 --config config/stage1.yaml --dataset demos": "test/token/test_stage1_file.py",
    "standalone/run ros2 launch rlt_ros stage2.launch.py checkpoint:=runs/stage1": "test/launch/test_stage2.py",
    "mkdir -p ws/src && cd ws": "test/package/test_colcon.py",
    "git clone <this repository> src/rlt_ros": "test/package/test_colcon.py",
    "rosdep install --from-paths src --ignore-src -y": None,  # rosdep needs its own index of a distribution
    "python3 -m venv --system-site-packages venv && . venv/bin/activate": "test/package/test_wheel.py",
    "pip install -e 'src/rlt_ros[learn,sim,data]'": "test/package/test_wheel.py",
    "colcon build && . install/setup.bash": "test/package/test_colcon.py",
    "ros2 launch rlt_ros stage2.launch.py": "test/launch/test_stage2.py",
}
"""Command of the README to the test that runs it, perhaps with smaller numbers."""


def commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    lines = [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_every_command_is_run_by_a_test() -> None:
    assert set(commands()) == set(RUN_BY)
    for test in filter(None, RUN_BY.values()):
        assert (ROOT / test).exists(), test


def test_every_picture_and_file_is_there() -> None:
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / path).exists(), path


def test_the_table_of_launch_arguments_is_that_of_the_launch_file() -> None:
    if subprocess.run(["which", "ros2"], capture_output=True).returncode:
        pytest.skip("no ros2 command on PATH")
    shown = subprocess.run(
        ["ros2", "launch", "rlt_ros", "stage2.launch.py", "--show-args"], capture_output=True, text=True, timeout=60
    ).stdout
    table = README.split("## Launch arguments")[1].split("##")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == re.findall(r"^\s+'(\w+)':", shown, re.MULTILINE)


def test_the_drawing_of_the_graph_is_that_of_its_source() -> None:
    pictures = ROOT / "docs" / "images"
    labels = re.findall(r'label="([^"]+)"', (pictures / "graph.dot").read_text())
    drawn = (pictures / "graph.svg").read_text()
    words = {word for label in labels for word in re.findall(r"\w+", label.replace("\\n", " "))}
    assert words and [word for word in sorted(words) if word not in drawn] == [], "dot -Tsvg graph.dot -o graph.svg"
    topics = {path.stem for path in (ROOT / "msg").glob("*.msg")}
    assert "OperatorStatus" in topics and "operator_status" in words

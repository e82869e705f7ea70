"""What docs/datasets.md shows works as it stands there."""

import re
from pathlib import Path

import numpy as np
import yaml
from own_dataset import ROBOT

from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.mapping import DatasetMapping
from rlt_ros.strict import build

DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"


def block(language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return found


def test_the_mapping_is_one():
    mapping = build(DatasetMapping, yaml.safe_load(block("yaml")), "docs")
    assert mapping.action.convention == "pose" and mapping.state.scale == {"gripper_width": 0.001}


def test_the_python_records_an_episode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    images = {name: np.full((480, 640, 3), 99, np.uint8) for name in ROBOT.cameras}
    proprio, action = np.zeros(19, np.float32), np.array([0, 0, 0, 0, 0, 0, -1], np.float32)
    exec(block("python"), {"robot": ROBOT, "images": images, "proprio": proprio, "action": action})
    (got,) = load("data/peg", None, ROBOT, 32)
    assert got.success and got.instruction == "insert the peg"
    np.testing.assert_array_equal(got.actions, [action])

"""`rlt demonstrate`: what the simulator recorded is what Stage 1 gets, through a LeRobot dataset."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from official_run import dumped, needs_lerobot
from stage1_example import CONFIG

from rlt_ros.cli import main
from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.robot.config import load_robot
from rlt_ros.token.demonstrate import demonstrations

EPISODES, SEED = 2, 3


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("demonstrate") / "set"
    assert main(["demonstrate", "--out", str(path), "--episodes", str(EPISODES), "--seed", str(SEED)]) == 0
    return path


def test_the_dataset_gives_the_demonstrations_of_that_seed(root):
    robot, size = load_robot(), CONFIG.vla.image_size
    config = replace(CONFIG, demonstrations=EPISODES)
    for got, want in zip(load(root, None, robot, size), demonstrations(config, robot, SEED), strict=True):
        for name in ("proprio", "actions", "offset"):
            np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
        for name in robot.cameras:
            np.testing.assert_array_equal(got.images[name], want.images[name])
        assert (got.id, got.success, got.instruction) == (want.id, want.success, config.instruction)
    for episode in DatasetReader(root):
        episode.check_grid(robot.control_rate, tolerance=0.0)


@needs_lerobot
def test_official_lerobot_has_equal_frames(root, tmp_path):
    got, reader = dumped(root, tmp_path / "out.npz"), DatasetReader(root)
    for key in ("observation.state", "action", "timestamp", "truth.offset", "next.success"):
        np.testing.assert_array_equal(got[key], reader.values(key))
    for key in ("observation.images.front", "observation.images.wrist"):
        np.testing.assert_array_equal(got[key], np.stack([p for e in reader for p in e.pictures(key)]))
    assert set(got["task"]) == {CONFIG.instruction}


def test_an_existing_directory_is_left_alone(root, capsys):
    before = DatasetReader(root).frames
    assert main(["demonstrate", "--out", str(root)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert DatasetReader(root).frames == before


def test_ctrl_c_keeps_the_episodes_that_were_reported(tmp_path):
    command = [sys.executable, "-m", "rlt_ros", "demonstrate", "--out", str(tmp_path / "set"), "--episodes", "500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        lines = [run.stdout.readline(), run.stdout.readline()]
        run.send_signal(signal.SIGINT)
        rest, error = run.communicate()
    lines += rest.splitlines()
    assert run.returncode == 130 and "interrupted" in error
    reader = DatasetReader(tmp_path / "set")
    assert len(reader) == len(lines) >= 2
    assert not (tmp_path / "set/.partial").exists()
    assert sum(len(episode) for episode in reader) == reader.frames

"""The official `lerobot` package reads what is written here, frame for frame, and the other way round.

Runs where RLT_LEROBOT_PYTHON names a Python that can import it (docs/datasets.md says how to get one); checked with the
commit that test/data/samples/README.md names.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import own_dataset
import pytest
import small_dataset
from official_run import dumped, needs_lerobot, official
from own_dataset import ROBOT, demonstration
from small_dataset import FRONT, WRIST

from rlt_ros.data.lerobot.hashing import dataset_hash
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.writer import DatasetWriter

SAMPLES = Path(__file__).with_name("samples")
pytestmark = needs_lerobot


def test_lerobot_reads_every_kind_of_column_frame_for_frame(tmp_path):
    small_dataset.write(tmp_path / "set", 3)
    got = dumped(tmp_path / "set", tmp_path / "out.npz")
    steps = [(e, s) for e in range(3) for s in range(small_dataset.length(e))]
    want = [small_dataset.frame(*step) for step in steps]
    for key in ("observation.state", "action", WRIST):
        np.testing.assert_array_equal(got[key], [f[key] for f in want])
    np.testing.assert_array_equal(got["stamp"], [f["stamp"][0] for f in want])
    np.testing.assert_allclose(got[FRONT].mean(axis=(1, 2, 3)), [small_dataset.level(*s) for s in steps], atol=3.0)
    np.testing.assert_array_equal(got["timestamp"], np.float32([s / small_dataset.FPS for _, s in steps]))
    np.testing.assert_array_equal(got["task"], [small_dataset.task(e) for e, _ in steps])
    np.testing.assert_array_equal(got["next.success"], [s == small_dataset.length(e) - 1 for e, s in steps])
    assert (int(got["episodes"]), int(got["fps"]), str(got["robot_type"])) == (3, small_dataset.FPS, "fr3")


@pytest.mark.parametrize("video", [False, True])
def test_lerobot_reads_our_own_form(tmp_path, video):
    episodes = [demonstration(number, 5 + number) for number in range(2)]
    own_dataset.write(tmp_path / "set", episodes, video=video)
    got = dumped(tmp_path / "set", tmp_path / "out.npz")
    np.testing.assert_array_equal(got["observation.state"], np.concatenate([d.proprio for d in episodes]))
    np.testing.assert_array_equal(got["action"], np.concatenate([d.actions for d in episodes]))
    assert set(got["task"]) == {own_dataset.TASK}
    for name in ROBOT.cameras:
        pictures = np.concatenate([d.images[name] for d in episodes])
        if video:
            assert got[f"observation.images.{name}"].shape == pictures.shape
        else:
            np.testing.assert_array_equal(got[f"observation.images.{name}"], pictures)


@pytest.mark.parametrize("rename", range(6))
def test_lerobot_loads_what_a_killed_writer_left(tmp_path, rename):
    """Between the renames of a commit, nothing repaired: the episode in progress is not there, the rest is whole."""
    small_dataset.write(tmp_path / "set", 1)
    subprocess.run([sys.executable, small_dataset.__file__, tmp_path / "set", str(rename)], capture_output=True)
    got = dumped(tmp_path / "set", tmp_path / "out.npz")
    want = [small_dataset.frame(0, step) for step in range(small_dataset.length(0))]
    np.testing.assert_array_equal(got["observation.state"], [f["observation.state"] for f in want])
    assert int(got["episodes"]) == 1


def test_lerobot_and_this_package_append_in_turns(tmp_path):
    root = tmp_path / "set"
    small_dataset.write(root, 1)
    official("append", root)
    with DatasetWriter.open(root, small_dataset.FPS, small_dataset.FEATURES) as writer:
        assert writer.episodes == 2
        small_dataset.add_episode(writer, 2)
        writer.save_episode()
    official("append", root)
    lengths = [small_dataset.length(0), 3, small_dataset.length(2), 3]
    reader = DatasetReader(root)
    assert [len(episode) for episode in reader] == lengths
    want = [small_dataset.frame(2, step)["action"] for step in range(lengths[2])]
    np.testing.assert_array_equal(reader.episode(2).arrays["action"], want)
    assert all(len(list(episode.pictures(key))) == len(episode) for episode in reader for key in (FRONT, WRIST))
    got = dumped(root, tmp_path / "out.npz")
    np.testing.assert_array_equal(got["action"], reader.values("action"))
    np.testing.assert_array_equal(got["task"], [task for episode in reader for task in episode.tasks])


@pytest.mark.parametrize("camera", ["video", "image"])
def test_lerobots_own_conversion_keeps_the_hash(tmp_path, camera):
    shutil.copytree(SAMPLES / f"v21_{camera}", tmp_path / "set")
    official("convert", tmp_path / "set")
    converted = DatasetReader(tmp_path / "set")
    assert converted.version == "v3.0"
    assert dataset_hash(converted) == dataset_hash(DatasetReader(SAMPLES / f"v21_{camera}"))

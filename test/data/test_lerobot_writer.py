"""The writer: what it writes, and that an interrupted episode leaves nothing (field reports B27, B30, B32)."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import small_dataset
from small_dataset import FEATURES, FPS, FRONT, WRIST, add_episode, frame, length

from rlt_ros.data.lerobot import commit, encoder, pending
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.writer import DatasetWriter

RENAMES = 6
"""Of a commit with one video: data, video, tasks, statistics, episodes, info."""


@pytest.fixture
def root(tmp_path):
    small_dataset.write(tmp_path / "set", 1)
    return tmp_path / "set"


def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def info(root):
    return json.loads((root / "meta/info.json").read_text())


def test_the_table_holds_the_frames(root):
    table = pq.read_table(root / "data/chunk-000/file-000.parquet").to_pydict()
    want = [frame(0, step) for step in range(length(0))]
    np.testing.assert_array_equal(table["observation.state"], [f["observation.state"] for f in want])
    assert table["stamp"] == [int(f["stamp"][0]) for f in want]
    assert table["frame_index"] == list(range(length(0)))
    np.testing.assert_array_equal(table["timestamp"], np.arange(length(0), dtype=np.float32) / np.float32(FPS))
    assert FRONT not in table


def test_the_outcome_is_given_with_the_last_frame(root):
    assert pq.read_table(root / "data/chunk-000/file-000.parquet")["next.success"].to_pylist() == [False] * 4 + [True]


def test_indices_go_on_over_episodes_and_sessions(root):
    with DatasetWriter.open(root, FPS, FEATURES) as writer:
        add_episode(writer, 1)
        assert writer.save_episode() == 1
    table = pq.read_table(root / "data/chunk-000/file-001.parquet").to_pydict()
    assert table["index"] == list(range(length(0), length(0) + length(1)))
    assert set(table["episode_index"]) == {1} and set(table["task_index"]) == {1}
    got = info(root)
    assert (got["total_episodes"], got["total_frames"], got["total_tasks"]) == (2, length(0) + length(1), 2)


def test_statistics_are_those_of_the_frames(tmp_path):
    small_dataset.write(tmp_path / "set", 3)
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())
    every = [frame(e, s) for e in range(3) for s in range(length(e))]
    states = np.stack([f["observation.state"] for f in every]).astype(np.float64)
    pixels = np.stack([f[WRIST] for f in every]) / 255.0
    np.testing.assert_allclose(stats["observation.state"]["mean"], states.mean(axis=0))
    np.testing.assert_allclose(stats["observation.state"]["std"], states.std(axis=0))
    np.testing.assert_allclose(np.ravel(stats[WRIST]["mean"]), pixels.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(np.ravel(stats[WRIST]["std"]), pixels.std(axis=(0, 1, 2)))
    assert np.shape(stats[WRIST]["q99"]) == (3, 1, 1) and stats["action"]["count"] == [len(every)]


def test_pictures_do_not_pile_up_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(pending, "FLUSH", 5000)
    small_dataset.write(tmp_path / "set", 3)
    path = tmp_path / "set/data/chunk-000/file-002.parquet"
    assert pq.ParquetFile(path).num_row_groups > 1
    assert pq.read_table(path)["frame_index"].to_pylist() == list(range(length(2)))


def test_a_discarded_episode_leaves_nothing(root):
    before = files(root)
    with DatasetWriter.open(root) as writer:
        add_episode(writer, 1)
        assert writer.frames == length(1)
        writer.discard_episode()
        assert files(root) == before
        add_episode(writer, 2)
    assert files(root) == before


@pytest.mark.parametrize("rename", range(RENAMES + 1))
def test_a_killed_writer_leaves_the_dataset_as_before_or_after(root, rename):
    """Every moment between the renames of a commit; what the loader reads is checked before anything is repaired."""
    before = files(root)
    run = subprocess.run([sys.executable, small_dataset.__file__, str(root), str(rename)], capture_output=True)
    assert run.returncode == (-signal.SIGKILL if rename < RENAMES else 0), run.stderr
    committed = info(root)["total_episodes"]
    assert committed == (1 if rename < RENAMES else 2)
    for name, content in before.items():
        if name.startswith(("data", "videos")) or rename == 0:
            assert (root / name).read_bytes() == content
    with DatasetWriter.open(root) as writer:
        assert writer.episodes == committed
        if committed == 1:
            assert set(files(root)) == set(before)
            add_episode(writer, 1)
            writer.save_episode()
    assert json.loads((root / "meta/stats.json").read_text())["action"]["count"] == [length(0) + length(1)]
    rows = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet").to_pydict()
    assert rows["episode_index"] == [0, 1] and rows["tasks"] == [["task 0"], ["task 1"]]


def test_ctrl_c_in_a_commit_leaves_nothing_and_the_writer_goes_on(root, monkeypatch):
    before = files(root)
    with DatasetWriter.open(root) as writer:
        for interrupted in range(RENAMES):
            add_episode(writer, 1)
            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", interrupting(interrupted))
                with pytest.raises(KeyboardInterrupt):
                    writer.save_episode()
            assert set(files(root)) == set(before) and writer.episodes == 1
        add_episode(writer, 1)
        writer.save_episode()
    assert info(root)["total_episodes"] == 2


def test_ctrl_c_while_clearing_up_is_made_good_by_the_next_open(root, monkeypatch):
    before = files(root)
    with DatasetWriter.open(root) as writer:
        add_episode(writer, 1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupting(RENAMES - 1))
            patch.setattr(commit, "write_tasks", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                writer.save_episode()
        with pytest.raises(DatasetError, match="open the dataset again"):
            add_episode(writer, 1)
    DatasetWriter.open(root).close()
    assert set(files(root)) == set(before)
    assert pq.read_table(root / "meta/tasks.parquet")["task"].to_pylist() == ["task 0"]
    assert json.loads((root / "meta/stats.json").read_text())["action"]["count"] == [length(0)]


def interrupting(after):
    real, left = os.replace, [after]

    def replace(source, target):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        real(source, target)

    return replace


@pytest.mark.parametrize("limit", [100, 3000, 8000, 20_000])
def test_a_full_disk_costs_the_episode_in_progress_only(root, limit):
    """RLIMIT_FSIZE makes writes beyond it fail in the table, the video or the files of meta."""
    before = files(root)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with DatasetWriter.open(root) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(OSError):
                add_episode(writer, 1)
                writer.save_episode()
            left = files(root)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            signal.signal(signal.SIGXFSZ, handler)
        assert left == before
        assert writer.frames == 0
        add_episode(writer, 1)
        writer.save_episode()
    assert info(root)["total_episodes"] == 2


def test_no_episode_is_started_on_a_disk_that_is_nearly_full(root, monkeypatch):
    free = shutil.disk_usage(root).free
    with DatasetWriter.open(root) as writer:
        with monkeypatch.context() as patch:
            patch.setattr("rlt_ros.data.lerobot.writer.MIN_FREE", 2 * free)
            with pytest.raises(OSError, match="MB free, .* MB wanted"):
                writer.add_frame(frame(1, 0), "task 1")
        add_episode(writer, 1)
        assert writer.save_episode() == 1


def test_a_second_writer_is_refused_while_the_first_lives(root):
    with DatasetWriter.open(root) as writer:
        add_episode(writer, 1)
        with pytest.raises(DatasetError, match="another writer"):
            DatasetWriter.open(root)
        writer.save_episode()
    DatasetWriter.open(root).close()


def test_an_existing_path_is_not_overwritten(root):
    before = files(root)
    with pytest.raises(FileExistsError, match="exists already"):
        DatasetWriter.create(root, FPS, "fr3", FEATURES)
    assert files(root) == before


def test_a_mismatch_of_fps_or_features_names_both(root):
    with pytest.raises(DatasetError, match="fps: 30 wanted, 20 in"):
        DatasetWriter.open(root, 30, FEATURES)
    other = FEATURES | {"action": {"dtype": "float32", "shape": (2,), "names": ["x", "z"]}}
    with pytest.raises(DatasetError, match=r"action: .*'z'.* wanted, .*'y'.* in the dataset"):
        DatasetWriter.open(root, FPS, other)
    more = FEATURES | {"reward": {"dtype": "float32", "shape": (1,), "names": None}}
    with pytest.raises(DatasetError, match="reward: .* wanted, None in the dataset"):
        DatasetWriter.open(root, FPS, more)
    DatasetWriter.open(root, FPS, FEATURES).close()


def test_another_version_is_refused_naming_both(root):
    path = root / "meta/info.json"
    path.write_text(path.read_text().replace("v3.0", "v2.1"))
    with pytest.raises(DatasetError, match=r"version v2\.1; only v3\.0"):
        DatasetWriter.open(root)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action": np.zeros(3, np.float32)}, r"action: float32 \(3,\); expected float32 \(2,\)"),
        ({"action": np.zeros(2)}, r"action: float64 \(2,\); expected float32"),
        ({"action": np.array([0.0, np.nan], np.float32)}, "action: not finite"),
        ({WRIST: np.zeros((32, 24, 3), np.uint8)}, r"wrist: uint8 \(32, 24, 3\); expected uint8 \(24, 32, 3\)"),
        ({"speed": np.zeros(1, np.float32)}, r"unknown \['speed'\]"),
        ({"timestamp": np.zeros(1, np.float32)}, r"unknown \['timestamp'\]"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_and_the_episode_goes_on(root, changes, message):
    with DatasetWriter.open(root) as writer:
        writer.add_frame(frame(1, 0), "task 1")
        with pytest.raises(DatasetError, match=message):
            writer.add_frame(frame(1, 1) | changes, "task 1")
        with pytest.raises(DatasetError, match="missing"):
            writer.add_frame({}, "task 1")
        assert writer.frames == 1
        writer.save_episode()
    assert info(root)["total_frames"] == length(0) + 1


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ({"dtype": "float16", "shape": (1,)}, "float16"),
        ({"dtype": "float32", "shape": (2,), "names": ["a"]}, r"1 names for shape \[2\]"),
        ({"dtype": "video", "shape": (31, 48, 3)}, "even"),
        ({"dtype": "image", "shape": (31, 48)}, "colour"),
    ],
)
def test_features_that_cannot_be_written_are_refused_before_anything_is(tmp_path, feature, message):
    with pytest.raises(DatasetError, match=message):
        DatasetWriter.create(tmp_path / "set", FPS, "fr3", {"bad": feature})
    with pytest.raises(DatasetError, match="whole number"):
        DatasetWriter.create(tmp_path / "set", 12.5, "fr3", FEATURES)
    assert list(tmp_path.iterdir()) == []


def test_saving_nothing_is_refused(root):
    with DatasetWriter.open(root) as writer, pytest.raises(DatasetError, match="no frame"):
        writer.save_episode()


@pytest.mark.parametrize("codec", encoder.OPTIONS)
def test_each_codec_is_there(tmp_path, codec):
    small_dataset.write(tmp_path / "set", 1, codec=codec)
    assert info(tmp_path / "set")["features"][FRONT]["info"]["video.codec"] == ("h264" if codec == "h264" else "av1")


@pytest.mark.parametrize("codec", ["h264", "libsvtav1"])
def test_a_codec_does_not_make_the_process_real_time(tmp_path, codec):
    """SVT-AV1 does so where root runs it; a recorder would then take its core from whatever moves the arm."""
    before = policies()
    video = encoder.VideoEncoder(tmp_path / "x.mp4", 20, 64, 64, codec)
    for _ in range(3):
        video.add(np.zeros((64, 64, 3), np.uint8))
        assert policies() == before
    video.close()
    assert policies() == before


def policies():
    return {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}

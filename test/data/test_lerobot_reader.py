"""The reader: LeRobot's own files of both versions, and what is wrong with others (field reports B23, B24, B25)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_dataset
from samples import content
from small_dataset import FRONT, WRIST

from rlt_ros.data.lerobot import decoder, encoder
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.reader import DatasetReader

SAMPLES = Path(__file__).with_name("samples")
VERSIONS = {"v21": "v2.1", "v30": "v3.0"}


@pytest.fixture
def root(tmp_path):
    small_dataset.write(tmp_path / "set", 3)
    return tmp_path / "set"


@pytest.mark.parametrize("camera", ["video", "image"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_lerobot_wrote_is_read_frame_for_frame(version, camera):
    reader = DatasetReader(SAMPLES / f"{version}_{camera}")
    assert (reader.version, reader.fps, len(reader)) == (VERSIONS[version], content.FPS, len(content.LENGTHS))
    reader.check_videos()
    for number, episode in enumerate(reader):
        want = [content.frame(number, step) for step in range(content.LENGTHS[number])]
        for key in ("observation.state", "action"):
            np.testing.assert_array_equal(episode.arrays[key], [f[key] for f in want])
        np.testing.assert_array_equal(episode.arrays["next.success"], [f["next.success"][0] for f in want])
        assert episode.tasks == [content.task(number)] * len(want)
        episode.check_grid(content.FPS)
        levels = [picture.mean() for picture in episode.pictures(content.CAMERA)]
        expected = [content.level(number, step) for step in range(len(want))]
        np.testing.assert_allclose(levels, expected, atol=0.0 if camera == "image" else 3.0)


@pytest.mark.parametrize("version", VERSIONS)
def test_statistics_of_lerobot_are_read(version):
    stats = DatasetReader(SAMPLES / f"{version}_video").stats
    states = [content.frame(e, s)["observation.state"] for e, n in enumerate(content.LENGTHS) for s in range(n)]
    np.testing.assert_allclose(stats["observation.state"]["mean"], np.mean(states, axis=0), atol=1e-6)
    np.testing.assert_allclose(stats["observation.state"]["std"], np.std(states, axis=0), rtol=1e-4)
    assert stats[content.CAMERA]["mean"].shape == (3, 1, 1)
    assert ("q01" in stats["action"]) == (version == "v30")


def test_what_is_written_here_is_read_here(root):
    reader = DatasetReader(root)
    for number, episode in enumerate(reader):
        want = [small_dataset.frame(number, step) for step in range(small_dataset.length(number))]
        np.testing.assert_array_equal(episode.arrays["stamp"], [f["stamp"][0] for f in want])
        np.testing.assert_array_equal(list(episode.pictures(WRIST)), [f[WRIST] for f in want])
        levels = [small_dataset.level(number, step) for step in range(len(want))]
        np.testing.assert_allclose([p.mean() for p in episode.pictures(FRONT)], levels, atol=3.0)
    assert reader.values("action").shape == (reader.frames, 2)


def test_pictures_are_read_one_by_one(root):
    pictures = DatasetReader(root).episode(0).pictures(WRIST)
    assert next(pictures).shape == (24, 32, 3)


@pytest.mark.parametrize("codec", encoder.OPTIONS)
def test_b_frames_and_rare_key_frames_change_nothing(tmp_path, monkeypatch, codec):
    reordering = {"h264": {"g": "50", "bf": "3", "crf": "10"}, "libsvtav1": {"g": "50", "crf": "20", "preset": "10"}}
    monkeypatch.setitem(encoder.OPTIONS, codec, reordering[codec])
    monkeypatch.setattr(small_dataset, "length", lambda episode: 20)
    small_dataset.write(tmp_path / "set", 1, codec=codec)
    episode = DatasetReader(tmp_path / "set").episode(0)
    levels = [small_dataset.level(0, step) for step in range(20)]
    np.testing.assert_allclose([p.mean() for p in episode.pictures(FRONT)], levels, atol=3.0)


def test_another_version_is_refused_naming_all(root):
    path = root / "meta/info.json"
    path.write_text(path.read_text().replace("v3.0", "v1.6"))
    with pytest.raises(DatasetError, match=r"version v1\.6; versions v2\.1 and v3\.0 can be read"):
        DatasetReader(root)


def change_rows(root, episode, change):
    path = root / f"data/chunk-000/file-{episode:03d}.parquet"
    table = pq.read_table(path)
    pq.write_table(change(table), path)


def set_column(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


def test_a_gap_in_time_is_named_with_episode_and_frame(root):
    times = np.arange(6) / 20
    times[3:] += 0.02
    change_rows(root, 1, set_column("timestamp", times.astype(np.float32)))
    with pytest.raises(DatasetError, match=r"episode 1: frame 3 is at 0\.1700 s; expected 0\.1500 s"):
        DatasetReader(root).episode(1).check_grid(20)
    with pytest.raises(DatasetError, match=r"001\.mp4: no picture at 0\.1700 s; the nearest are at 0\.15 and 0\.2"):
        list(DatasetReader(root).episode(1).pictures(FRONT))


@pytest.mark.parametrize(("late", "fits"), [(1e-4, True), (2e-4, False)])
def test_a_gap_of_exactly_the_tolerance_is_allowed(root, late, fits):
    change_rows(root, 0, set_column("timestamp", (np.arange(5) / 20 + late).astype(np.float32)))
    episode = DatasetReader(root).episode(0)
    if fits:
        episode.check_grid(20)
        assert len(list(episode.pictures(FRONT))) == 5
    else:
        for check in (lambda: episode.check_grid(20), lambda: list(episode.pictures(FRONT))):
            with pytest.raises(DatasetError):
                check()


def test_a_video_with_fewer_pictures_than_frames_is_named_at_load(root):
    video = root / f"videos/{FRONT}/chunk-000"
    shutil.copy(video / "file-000.mp4", video / "file-002.mp4")
    reader = DatasetReader(root)
    with pytest.raises(DatasetError, match=r"file-002\.mp4: 5 pictures for 7 frames"):
        reader.check_videos()
    with pytest.raises(DatasetError, match=r"file-002\.mp4: no picture at 0\.2500 s; the last is at 0\.2"):
        list(reader.episode(2).pictures(FRONT))
    shutil.copy(video / "file-001.mp4", video / "file-000.mp4")
    with pytest.raises(DatasetError, match=r"file-002"):
        DatasetReader(root).check_videos()


@pytest.mark.parametrize("name", [f"videos/{FRONT}/chunk-000/file-001.mp4", "data/chunk-000/file-001.parquet"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_file_is_named(root, name, damage):
    path = root / name
    if damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.unlink()
    with pytest.raises(DatasetError, match=path.name):
        list(DatasetReader(root).episode(1).pictures(FRONT))


def test_other_counts_than_meta_has_are_named(root):
    change_rows(root, 1, lambda table: table.slice(0, 4))
    with pytest.raises(DatasetError, match=r"episode 1: 4 frames; meta/ has 6"):
        DatasetReader(root).episode(1)
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total_frames": 3}))
    with pytest.raises(DatasetError, match="18 frames in all episodes; info.json has 3"):
        DatasetReader(root)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total_episodes": 9}))
    with pytest.raises(DatasetError, match="3 episodes; info.json has 9"):
        DatasetReader(root)


def test_a_picture_that_is_none_is_named_with_its_frame(root):
    cells = pq.read_table(root / "data/chunk-000/file-000.parquet")[WRIST].to_pylist()
    cells[2] = {"bytes": b"no picture", "path": None}
    change_rows(root, 0, set_column(WRIST, cells))
    with pytest.raises(DatasetError, match=r"wrist of frame 2: 10 bytes that are no picture"):
        list(DatasetReader(root).episode(0).pictures(WRIST))


def test_an_unknown_task_episode_or_camera_is_named(root):
    change_rows(root, 0, set_column("task_index", [0, 0, 5, 0, 0]))
    reader = DatasetReader(root)
    with pytest.raises(DatasetError, match="task_index 5"):
        reader.episode(0).tasks  # noqa: B018
    with pytest.raises(DatasetError, match="episode 3; there are 3"):
        reader.episode(3)
    with pytest.raises(DatasetError, match="no camera 'side'"):
        list(reader.episode(1).pictures("side"))


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_that_is_no_dataset_is_named(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=f"{name}: not a LeRobot dataset: it has no meta/info.json"):
        DatasetReader(tmp_path / name)


def test_an_info_file_that_is_no_json_is_named(root):
    (root / "meta/info.json").write_text("{")
    with pytest.raises(DatasetError, match=r"info\.json: not the info\.json of a LeRobot dataset"):
        DatasetReader(root)


def test_timestamps_of_an_hour_are_as_exact_as_a_float32_can_be(tmp_path):
    """The table has them as float32, the video exactly: 1.6e-4 s apart after 4,096 s."""
    fps, start = 3, 4100
    video = encoder.VideoEncoder(tmp_path / "long.mp4", fps, 16, 16, "h264")
    for step in range(fps * start + 10):
        video.add(np.full((16, 16, 3), 20 * (step % 10), np.uint8))
    video.close()
    times = (np.arange(fps * start, fps * start + 10) / fps).astype(np.float32).tolist()
    shown = [picture.mean() / 20 for picture in decoder.pictures_at(tmp_path / "long.mp4", times)]
    assert np.allclose(shown, [step % 10 for step in range(fps * start, fps * start + 10)], atol=0.2)

"""Demonstrations into a LeRobot dataset and back."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import own_dataset
import pyarrow.parquet as pq
import pytest
from own_dataset import ROBOT, SIZE, demonstration

from rlt_ros.data.demos import Frames
from rlt_ros.data.images import square
from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.recording import features_for, fps_of, frame_of, frames_of, outcome
from rlt_ros.data.lerobot.writer import DatasetWriter

EPISODES = [demonstration(number, steps) for number, steps in ((0, 6), (1, 9), (2, 5))]


@pytest.fixture
def root(tmp_path):
    own_dataset.write(tmp_path / "set", EPISODES)
    return tmp_path / "set"


def test_what_was_recorded_comes_back_equal(root):
    for got, want in zip(load(root, None, ROBOT, SIZE), EPISODES, strict=True):
        assert (got.id, got.success, got.instruction) == (want.id, want.success, want.instruction)
        for name in ("proprio", "actions", "offset"):
            np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
        for name in ROBOT.cameras:
            np.testing.assert_array_equal(got.images[name], want.images[name])


def test_pictures_come_at_policy_resolution(root):
    (first, *_) = load(root, None, ROBOT, 8)
    want = np.stack([square(picture, 8) for picture in EPISODES[0].images["wrist"]])
    np.testing.assert_array_equal(first.images["wrist"], want)


def test_pictures_are_never_scaled_up(root):
    """A camera on the robot gives sharp ones at that size: the policy would see what it was not trained on."""
    there, wanted = f"{SIZE} x {SIZE}", f"{SIZE + 1} x {SIZE + 1}"
    with pytest.raises(DatasetError, match=rf"pictures of {there} in observation\.images\.\w+, {wanted} wanted"):
        next(load(root, None, ROBOT, SIZE + 1, skipped=print))


def test_videos_come_back_alike(tmp_path):
    flat = [replace(d, images={n: np.full_like(p, 90 + 40 * d.id) for n, p in d.images.items()}) for d in EPISODES]
    own_dataset.write(tmp_path / "set", flat, video=True)
    for got, want in zip(load(tmp_path / "set", None, ROBOT, SIZE), flat, strict=True):
        np.testing.assert_allclose(got.images["front"].mean(), want.images["front"].mean(), atol=3.0)


def test_without_simulator_truth_there_is_no_offset(tmp_path):
    blind = [replace(d, offset=None) for d in EPISODES]
    own_dataset.write(tmp_path / "set", blind)
    loaded = list(load(tmp_path / "set", None, ROBOT, SIZE))
    assert loaded[0].offset is None
    assert Frames.of(loaded, 4).offset is None
    path = blind[0].save(tmp_path)
    assert type(blind[0]).load(path).offset is None


def test_a_robot_with_another_scale_reference_or_camera_is_refused(root):
    scaled = replace(ROBOT, action_scale=replace(ROBOT.action_scale, translation=0.01))
    moved = replace(ROBOT, reference_pose=replace(ROBOT.reference_pose, position=(0.4, 0.0, 0.16)))
    blind = replace(ROBOT, cameras={"front": "topic"})
    measured = replace(ROBOT, anchor="measured")
    for robot, message in (
        (scaled, r"translation scale of an action: 0\.005 in the dataset, 0\.01 in the robot config"),
        (moved, "reference pose"),
        (blind, r"cameras: \['front', 'wrist'\] in the mapping, \['front'\] in the robot config"),
        (measured, "anchor"),
    ):
        with pytest.raises(DatasetError, match=message):
            load(root, None, robot, SIZE)
        with pytest.raises(DatasetError):
            features = features_for(robot, dict.fromkeys(robot.cameras, (SIZE, SIZE)), extra=own_dataset.OFFSET_FEATURE)
            DatasetWriter.open(root, features=features)


def test_the_same_robot_may_go_on_recording(root):
    features = features_for(ROBOT, dict.fromkeys(ROBOT.cameras, (SIZE, SIZE)), extra=own_dataset.OFFSET_FEATURE)
    with DatasetWriter.open(root, fps_of(ROBOT), features) as writer:
        for frame in frames_of(EPISODES[1]):
            writer.add_frame(frame, own_dataset.TASK)
        assert writer.save_episode(last=outcome(True)) == 3
    assert [d.success for d in load(root, None, ROBOT, SIZE)] == [False, True, False, True]


def test_missing_pyarrow_names_the_extra():
    script = "import sys\nsys.modules['pyarrow'] = None\nimport rlt_ros.data.lerobot.reader"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "pyarrow is missing: pip install 'rlt_ros[data,vision]'" in result.stderr


def test_a_control_rate_that_is_no_whole_number_cannot_be_recorded():
    with pytest.raises(DatasetError, match=r"control_rate is 12\.5 Hz"):
        fps_of(replace(ROBOT, control_rate=12.5))


def spoil(root, episode):
    path = root / f"data/chunk-000/file-{episode:03d}.parquet"
    table = pq.read_table(path)
    times = table["timestamp"].to_numpy() * np.float32(1.3)
    column = table.column_names.index("timestamp")
    pq.write_table(table.set_column(column, "timestamp", [times]), path)


def test_an_unusable_episode_is_an_error_or_is_left_out_with_its_reason(root):
    spoil(root, 1)
    with pytest.raises(DatasetError, match=r"episode 1: frame 1 is at 0\.0650 s; expected 0\.0500 s"):
        list(load(root, None, ROBOT, SIZE))
    reasons = []
    assert [d.id for d in load(root, None, ROBOT, SIZE, reasons.append)] == [0, 2]
    assert len(reasons) == 1 and "episode 1: frame 1" in reasons[0]


def test_a_dataset_of_others_needs_a_mapping(tmp_path):
    own_dataset.foreign(tmp_path / "set", EPISODES[0].proprio, EPISODES[0].actions, own_dataset.ACTION_NAMES)
    with pytest.raises(DatasetError, match="not written by this package"):
        load(tmp_path / "set", None, ROBOT, SIZE)


def test_two_instructions_in_one_episode_are_refused(tmp_path):
    features = features_for(ROBOT, dict.fromkeys(ROBOT.cameras, (SIZE, SIZE)))
    images = {name: pictures[0] for name, pictures in EPISODES[0].images.items()}
    with DatasetWriter.create(tmp_path / "set", 20, "fr3", features) as writer:
        for task in ("insert the peg", "take it out"):
            writer.add_frame(frame_of(images, EPISODES[0].proprio[0], EPISODES[0].actions[0]), task)
        writer.save_episode()
    with pytest.raises(DatasetError, match=r"episode 0: tasks \['insert the peg', 'take it out'\]"):
        list(load(tmp_path / "set", None, ROBOT, SIZE))


def test_a_recorded_camera_must_be_the_robots():
    with pytest.raises(DatasetError, match=r"cameras: \['side'\] to be recorded, \['front', 'wrist'\] in the robot"):
        features_for(ROBOT, {"side": (8, 8)})


def test_the_meaning_of_the_numbers_lies_in_the_dataset(root):
    meaning = DatasetReader(root).features["action"]["info"]["rlt_ros"]
    assert (meaning["translation_scale"], meaning["convention"]) == (ROBOT.action_scale.translation, "delta")

"""`rlt bag-to-lerobot --mapping`: a robot's raw topics, each at its own rate. Field reports B24, B27."""

from __future__ import annotations

import json
from pathlib import Path

import bags
import cv2
import numpy as np
import pytest
import yaml
from bags import START, TYPE

from rlt_ros.cli import main
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.values import numbers, picture
from rlt_ros.data.lerobot.reader import DatasetReader

MS = 1_000_000
CAMERA, ARM, HAND, POSE, TARGET = (
    "/front/color/image_raw",
    "/arm/joint_states",
    "/hand",
    "/current_pose",
    "/target_pose",
)
MAPPING = {
    "storage": "image",
    "features": {
        "observation.images.front": {"topic": CAMERA, "size": 16},
        "observation.state": [
            {"topic": ARM, "fields": ["position[j2]", "position[j1]"]},
            {"topic": HAND, "fields": ["position"]},
            {"topic": POSE, "fields": ["pose.position"]},
        ],
        "action": {"topic": TARGET, "fields": ["pose.position", "pose.orientation"]},
    },
}


def robot(seconds: float = 2.0, silent: tuple[float, float] = (9.0, 9.0)) -> bags.Recording:
    """Camera at 30 Hz, arm at 100 Hz, hand at 25 Hz, pose at 100 Hz, target at 20 Hz; the arm silent for a time."""
    made = bags.Recording()
    for topic, rate in ((CAMERA, 30), (ARM, 100), (HAND, 25), (POSE, 100), (TARGET, 20)):
        for number in range(int(seconds * rate)):
            time = number / rate
            stamp = START + round(time * 1e9)
            if topic == ARM and silent[0] <= time < silent[1]:
                continue
            made.add(topic, stamp + 3 * MS, message(topic, number, time, stamp))
    return made


def message(topic: str, number: int, time: float, stamp: int) -> object:
    if topic == CAMERA:
        return bags.image(np.full((16, 24, 3), number, np.uint8), stamp)
    if topic == ARM:
        return bags.joints({"j1": time, "j2": 10.0 + time}, stamp)
    return bags.joints({"finger": -time}, stamp) if topic == HAND else bags.pose((time, 0.0, 1.0), stamp)


def convert(bag: Path, out: Path, content: dict, *options: str) -> int:
    path = bag.parent / "mapping.yaml"
    path.write_text(yaml.safe_dump(content))
    return main(["bag-to-lerobot", str(bag), str(out), "--mapping", str(path), *options])


def test_the_latest_sample_of_each_topic_before_each_tick(tmp_path: Path) -> None:
    bag = robot().write(tmp_path / "bag")
    assert convert(bag, tmp_path / "out", MAPPING, "--offset", "0.0") == 0
    [episode] = DatasetReader(tmp_path / "out")
    ticks = np.arange(len(episode)) * 0.05
    assert len(episode) == 40
    state, action = episode.arrays["observation.state"], episode.arrays["action"]
    latest = lambda rate: np.floor(ticks * rate + 1e-6) / rate  # noqa: E731
    assert np.allclose(state[:, 0], 10 + latest(100)) and np.allclose(state[:, 1], latest(100)), "joints by their names"
    assert np.allclose(state[:, 2], -latest(25)) and np.allclose(state[:, 3], latest(100))
    assert np.allclose(action[:, 0], latest(20)) and np.allclose(action[:, 3:], [1, 0, 0, 0])
    levels = [int(rgb[0, 0, 0]) for rgb in episode.pictures("observation.images.front")]
    assert levels == np.floor(ticks * 30 + 1e-6).astype(int).tolist()
    raw = episode.arrays["stamp.hand"]
    assert np.allclose((raw - START) / 1e9, latest(25)), "the stamps of the samples, not of the ticks"
    names = DatasetReader(tmp_path / "out").features["observation.state"]["names"]
    assert len(names) == 6


def test_an_action_is_the_command_that_followed_what_was_seen(tmp_path: Path) -> None:
    """A command comes some milliseconds after the picture that it answers; the one before had led to that picture."""
    recording = bags.Recording()
    for number in range(40):
        stamp = START + number * bags.PERIOD
        recording.add(CAMERA, stamp + MS, message(CAMERA, number, 0.0, stamp))
        recording.add(TARGET, stamp + 20 * MS, message(TARGET, number, number, stamp + 12 * MS))
    bag, camera = recording.write(tmp_path / "bag"), {"topic": CAMERA}
    target = {"topic": TARGET, "fields": ["pose.position"]}
    for then, offset, late in ((True, "0.001", 0), (True, "0.040", 0), (False, "0.040", 1)):
        features = {"observation.images.front": camera, "action": target | {"then": then}}
        out = tmp_path / f"then_{then}_{offset}"
        assert convert(bag, out, {"storage": "image", "features": features}, "--offset", offset) == 0
        [episode] = DatasetReader(out)
        seen = [int(rgb[0, 0, 0]) for rgb in episode.pictures("observation.images.front")]
        assert len(seen) > 35 and (seen - episode.arrays["action"][:, 0] == late).all()


def test_a_topic_is_taken_before_or_after_a_tick_and_not_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = {"topic": TARGET, "fields": ["pose.position"]}
    features = {"observation.state": target, "action": target | {"then": True}}
    assert convert(robot().write(tmp_path / "bag"), tmp_path / "out", {"features": features}) == 1
    assert f"{TARGET} has then: true in one place and not in another" in capsys.readouterr().err


def test_time_of_receipt_for_messages_without_a_usable_header(tmp_path: Path) -> None:
    bag = robot().write(tmp_path / "bag")
    assert convert(bag, tmp_path / "out", MAPPING | {"time": "receipt"}, "--offset", "0.0") == 0
    [episode] = DatasetReader(tmp_path / "out")
    assert (episode.arrays["stamp.target_pose"] - START - 3 * MS).min() == 0


def test_a_slower_grid_takes_fewer_samples_and_a_faster_one_some_twice(tmp_path: Path) -> None:
    bag = robot().write(tmp_path / "bag")
    for rate, frames in ((10, 20), (50, 98)):
        report = tmp_path / f"{rate}.json"
        options = ("--offset", "0.0", "--rate", str(rate), "--json", str(report))
        assert convert(bag, tmp_path / f"at{rate}", MAPPING, *options) == 0
        [episode] = DatasetReader(tmp_path / f"at{rate}")
        episode.check_grid(rate)
        assert len(episode) == frames
        expected = np.floor(np.arange(frames) / rate * 20 + 1e-6) / 20
        assert np.allclose(episode.arrays["action"][:, 0], expected)
        repeated = json.loads(report.read_text())["topics"][TARGET]["repeated_frames"]
        assert repeated == frames - len(set(expected.tolist()))


def test_a_topic_that_falls_silent_costs_the_episode_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = robot(silent=(1.0, 1.4)).write(tmp_path / "bag")
    assert convert(bag, tmp_path / "out", MAPPING, "--offset", "0.0") == 1
    error = capsys.readouterr().err
    assert f"frame 24 at 1.200 s: {ARM}: latest sample is 0.210 s old, limit 0.200 s" in error
    assert not (tmp_path / "out").exists()
    assert convert(bag, tmp_path / "out", MAPPING, "--max-age", "0.5") == 0


def test_episodes_by_a_field(tmp_path: Path) -> None:
    recording = robot(3.0)
    for number in range(60):
        stamp = START + number * bags.PERIOD
        phase = 1 if 10 <= number < 20 else 2 if 30 <= number < 45 else 0
        recording.add("/step", stamp + MS, bags.step(number + 1, stamp, phase_id=phase))
    bag = recording.write(tmp_path / "bag")
    content = MAPPING | {"episodes": {"topic": "/step", "field": "phase_id"}}
    assert convert(bag, tmp_path / "out", content, "--offset", "0.0") == 0
    episodes = list(DatasetReader(tmp_path / "out"))
    assert [len(episode) for episode in episodes] == [10, 15]
    assert [round(float(e.arrays["action"][0, 0]), 2) for e in episodes] == [0.5, 1.5]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"features": {"action": {"topic": "/nowhere", "fields": ["x"]}}}, "no topic '/nowhere'"),
        ({"features": {"action": {"topic": TARGET, "fields": ["pose.velocity"]}}}, "no field 'velocity'"),
        ({"features": {"action": {"topic": TARGET, "fields": ["header.frame_id"]}}}, "is no number"),
        ({"features": {"action": {"topic": TARGET}}}, "no picture; name its fields"),
        ({"features": {"x": {"topic": CAMERA, "fields": ["width"]}}}, "a picture is one part without fields"),
        ({"features": {"x": {"topic": ARM, "fields": ["position[j9]"]}}}, "no value of 'j9'"),
        ({"features": {"x": {"topic": ARM, "field": "position"}}}, "unknown key 'field'"),
        ({"features": {"x": "position"}}, "expected a mapping or a list"),
        ({"features": {}}, "features is empty"),
        ({"time": "wall"}, "time is 'wall'"),
        ({"pace": "/elsewhere"}, "pace is '/elsewhere'"),
        ({"episodes": {"topic": "/elsewhere", "field": "x"}}, "no topic '/elsewhere'"),
    ],
)
def test_a_mapping_that_does_not_fit_names_the_place(
    tmp_path: Path, change: dict, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = robot(0.5).write(tmp_path / "bag")
    assert convert(bag, tmp_path / "out", MAPPING | change) == 1
    assert named in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_messages_without_a_header_need_the_time_of_receipt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.Recording()
    for number in range(20):
        recording.add("/load", START + number * bags.PERIOD, TYPE["std_msgs/msg/Float64"](float(number)))
    bag = recording.write(tmp_path / "bag")
    content = {"features": {"observation.state": {"topic": "/load", "fields": ["data"]}}}
    assert convert(bag, tmp_path / "out", content) == 1
    assert "`time: receipt`" in capsys.readouterr().err
    assert convert(bag, tmp_path / "out", content | {"time": "receipt"}) == 0
    [episode] = DatasetReader(tmp_path / "out")
    assert episode.arrays["observation.state"].ravel().tolist() == list(range(20))


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "rgba8", "bgra8", "mono8"])
@pytest.mark.parametrize("padding", [0, 5])
def test_pictures_of_every_colour_encoding(encoding: str, padding: int) -> None:
    rgb = bags.pixels(3)
    to = {"bgr8": cv2.COLOR_RGB2BGR, "rgba8": cv2.COLOR_RGB2RGBA, "bgra8": cv2.COLOR_RGB2BGRA}
    sent = rgb[..., :1] if encoding == "mono8" else cv2.cvtColor(rgb, to[encoding]) if encoding in to else rgb
    found = picture(bags.image(sent, START, encoding, padding), "here")
    assert np.array_equal(found, np.repeat(sent, 3, axis=2) if encoding == "mono8" else rgb)


def test_compressed_pictures() -> None:
    rgb = bags.pixels(4)
    data = cv2.imencode(".png", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))[1].ravel()
    kind = TYPE["sensor_msgs/msg/CompressedImage"]
    assert np.array_equal(picture(kind(bags.header(START), "png", data), "here"), rgb)
    with pytest.raises(BagError, match="are no picture"):
        picture(kind(bags.header(START), "png", data[:20]), "here")


def test_a_depth_picture_is_no_colour_picture() -> None:
    with pytest.raises(BagError, match="here: encoding '16UC1'"):
        picture(bags.image(bags.pixels(1), START, "16UC1"), "here")


def test_numbers_of_a_whole_part_of_a_message() -> None:
    assert numbers(bags.pose((1, 2, 3), START), "pose", "here").tolist() == [1, 2, 3, 1, 0, 0, 0]

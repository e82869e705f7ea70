"""`rlt check-dataset` finds every planted fault where it is, and nothing where there is none."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pick_dataset as pick
import pytest
import surgery
from pick_dataset import AT, FRONT, ROBOT, WRIST, changed

from rlt_ros.cli import main
from rlt_ros.data.check.findings import ERROR, WARNING
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.meaning import Meaning
from rlt_ros.data.check.survey import survey
from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.mapping import own_mapping
from rlt_ros.data.lerobot.reader import DatasetReader

STATE, ACTION = "observation.state", "action"
SOUND = pick.sound()
ALL = range(pick.EPISODES)
DEGREES = np.float32(np.degrees(1.0))


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    for name in ("image", "video"):
        pick.write(folder / name, SOUND, video=name == "video")
    return folder


def check(root, robot=ROBOT, limits=Limits(), checkpoint=None):  # noqa: B008
    reader = DatasetReader(root)
    meaning = Meaning(own_mapping(reader.features, str(root)), robot, reader.features, reader.fps)
    return survey(reader, meaning, limits, checkpoint)


def places(result):
    return [(f.code, f.episode, f.frame, f.column) for f in result.findings]


@pytest.mark.parametrize("kind", ["image", "video"])
def test_nothing_is_found_in_a_sound_dataset(written, kind):
    assert check(written / kind).findings == []


def part(name, frames, change):
    """Spoil one dimension of the state in some frames."""

    def spoil(proprio):
        proprio[frames, AT[name]] = change(proprio[frames, AT[name]])

    return spoil


def everywhere(field, change):
    demos = SOUND
    for episode in ALL:
        demos = changed(demos, episode, **{field: change})
    return demos


def freeze(images):
    images["front"][12:24] = images["front"][12]


def black_out(images):
    images["wrist"][20:26] = 2


def swap(images):
    images["front"], images["wrist"] = images["wrist"].copy(), images["front"].copy()


def copy_camera(images):
    images["wrist"][:] = images["front"]


def millimetres(proprio):
    proprio[:, AT["x"] : AT["z"] + 1] *= 1000


def degrees(proprio):
    proprio[:, AT["rx"] : AT["rz"] + 1] *= DEGREES


def never_closes(proprio):
    proprio[:, 0] = 0.08


def held_open(actions):
    actions[:, 6] = 1.0


def inverted(actions):
    actions[:, 6] *= -1


def three_late(actions):
    actions[3:] = actions[:-3].copy()


def stuck_sensors(proprio):
    proprio[15:30] = proprio[15]


def wrapped(proprio):
    """A slow turn through half a circle; beyond it the vector points the other way."""
    angles = np.linspace(np.pi - 0.09, np.pi + 0.09, len(proprio))
    for names in (slice(AT["rx"], AT["rz"] + 1), slice(AT["wx"], AT["wz"] + 1)):
        proprio[:, names] = np.random.default_rng(0).normal(0, 1e-4, (len(proprio), 3))
    proprio[:, AT["rx"]] = np.where(angles > np.pi, angles - 2 * np.pi, angles)
    proprio[:, AT["wx"]] += (angles[1] - angles[0]) * pick.FPS


DEMONSTRATIONS = {
    "frozen camera": (changed(SOUND, 2, images=freeze), [("frozen-camera", 2, 12, FRONT)]),
    "black pictures": (changed(SOUND, 1, images=black_out), [("blank", 1, 20, WRIST)]),
    "cameras exchanged": (changed(SOUND, 3, images=swap), [("cameras-swapped", 3, None, WRIST)]),
    "one camera twice": (changed(SOUND, 0, images=copy_camera), [("same-cameras", 0, 0, WRIST)]),
    "state that should move": (
        changed(SOUND, 4, proprio=part("z", slice(None), lambda z: z[0])),
        [("constant", 4, None, f"{STATE}/z")],
    ),
    "action that should move": (
        everywhere("actions", lambda a: a.__setitem__((slice(None), 1), 0.25)),
        [("constant", None, None, f"{ACTION}/dy")],
    ),
    "millimetres": (
        changed(SOUND, 1, proprio=millimetres),
        [("wild", 1, k, f"{STATE}/{n}") for n, k in (("x", 0), ("y", 0), ("z", 0))],
    ),
    "degrees": (changed(SOUND, 2, proprio=degrees), [("unit", 2, None, f"{STATE}/rx")]),
    "a wild value": (
        changed(SOUND, 2, proprio=part("fx", 30, lambda _: 4000.0)),
        [("wild", 2, 30, f"{STATE}/fx")],
    ),
    "a jump": (
        changed(SOUND, 0, proprio=part("x", slice(20, None), lambda x: x + 0.3)),
        [("jump", 0, 20, "state/x y z")],
    ),
    "a rotation that wraps": (changed(SOUND, 4, proprio=wrapped), [("rotation-wrap", 4, 28, "state/rx ry rz")]),
    "state that stands still": (changed(SOUND, 1, proprio=stuck_sensors), [("frozen-state", 1, 15, STATE)]),
    "gripper that never closes": (
        changed(SOUND, 3, proprio=never_closes, actions=held_open),
        [("gripper-never", 3, None, "")],
    ),
    "gripper labels lost": (
        changed(SOUND, 3, actions=held_open),
        [("gripper-labels", 3, 27, f"{ACTION}/gripper")],
    ),
    "gripper inverted": (
        everywhere("actions", inverted),
        [("gripper-sign", episode, None, f"{ACTION}/gripper") for episode in ALL],
    ),
    "actions three steps late": (everywhere("actions", three_late), [("shift", None, None, "action")]),
    "a key pressed by mistake": (
        [*SOUND[:4], replace(SOUND[4], **{n: getattr(SOUND[4], n)[:6] for n in ("proprio", "actions")},
                             images={n: p[:6] for n, p in SOUND[4].images.items()})],
        [("short", 4, None, "")],
    ),
    "an episode twice": ([*SOUND, SOUND[1]], [("episode-twice", 5, None, "")]),
}  # fmt: skip


@pytest.mark.parametrize("fault", DEMONSTRATIONS)
def test_a_fault_in_what_was_recorded_is_found_where_it_is(tmp_path, fault):
    demonstrations, expected = DEMONSTRATIONS[fault]
    pick.write(tmp_path / "set", demonstrations)
    assert places(check(tmp_path / "set")) == expected


def not_a_number(values):
    values[7, AT["vy"]] = np.nan


def gap(times):
    times[9:] += 0.07


def backwards(times):
    times[14] = times[12]


def drift(times):
    times *= 1.02


FILES = {
    "a video file": (
        "video",
        lambda root: surgery.video(root, WRIST, 2).unlink(),
        [("file-missing", 2, None, WRIST)],
    ),
    "two pictures of a video": (
        "video",
        lambda root: surgery.cut_video(root, FRONT, 1, 2),
        [("picture-missing", 1, pick.length(1) - 2, FRONT)],
    ),
    "a picture in the table": (
        "image",
        lambda root: surgery.set_cell(root, 3, FRONT, 11, None),
        [("picture-missing", 3, 11, FRONT)],
    ),
    "a data file": ("image", lambda root: surgery.data(root, 4).unlink(), [("file-missing", 4, None, "data")]),
    "rows of the table": ("image", lambda root: surgery.drop_rows(root, 0, 3), [("table", 0, None, "data")]),
    "a number": (
        "image",
        lambda root: surgery.set_numbers(root, 1, STATE, not_a_number),
        [("not-finite", 1, 7, f"{STATE}/vy")],
    ),
    "time: a gap": (
        "image",
        lambda root: surgery.set_numbers(root, 2, "timestamp", gap),
        [("timestamp-gap", 2, 9, "timestamp")],
    ),
    "time: backwards": (
        "image",
        lambda root: surgery.set_numbers(root, 0, "timestamp", backwards),
        [("timestamp-order", 0, 14, "timestamp")],
    ),
    "time: drift": (
        "image",
        lambda root: surgery.set_numbers(root, 3, "timestamp", drift),
        [("timestamp-grid", 3, 1, "timestamp")],
    ),
    "statistics": (
        "image",
        lambda root: surgery.set_stats(root, ACTION, "mean", 2, 0.4),
        [("stats", None, None, f"{ACTION}/dz")],
    ),
    "the instruction": (
        "image",
        lambda root: surgery.set_task(root, ""),
        [("task", episode, None, "task_index") for episode in ALL],
    ),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_fault_in_the_files_is_found_where_it_is(written, tmp_path, fault):
    kind, plant, expected = FILES[fault]
    root = shutil.copytree(written / kind, tmp_path / "set")
    plant(root)
    assert places(check(root)) == expected


def test_a_timestamp_just_within_the_tolerance_is_none(written, tmp_path):
    root = shutil.copytree(written / "image", tmp_path / "set")
    surgery.set_numbers(root, 2, "timestamp", lambda times: times.__setitem__(5, times[5] + 1e-4))
    assert check(root).findings == []


def test_old_normalisation_statistics_are_found(written, tmp_path, capsys):
    root = shutil.copytree(written / "image", tmp_path / "set")
    assert main(["norm-stats", str(root)]) == 0
    assert check(root).findings == []
    surgery.set_numbers(root, 0, ACTION, lambda actions: actions.__setitem__((3, 0), actions[3, 0] + 1e-4))
    assert places(check(root)) == [("norm-stats", None, None, "meta/rlt_norm_stats.json")]


def test_raw_stamps_that_stand_still_are_found(tmp_path):
    stamps = [[k * 50_000_000 for k in range(pick.length(episode))] for episode in ALL]
    stamps[2][30:] = [stamp + 400_000_000 for stamp in stamps[2][30:]]
    stamps[3][10] = 0
    pick.write(tmp_path / "set", SOUND, stamps=stamps)
    assert places(check(tmp_path / "set")) == [
        ("stamp-gap", 2, 30, "stamp"),
        ("stamp-order", 3, 10, "stamp"),
        ("stamp-gap", 3, 11, "stamp"),
    ]


def test_an_episode_of_one_frame_is_short_and_nothing_else(tmp_path):
    one = {n: getattr(SOUND[4], n)[:1] for n in ("proprio", "actions")}
    pick.write(
        tmp_path / "set", [*SOUND[:4], replace(SOUND[4], images={n: p[:1] for n, p in SOUND[4].images.items()}, **one)]
    )
    assert places(check(tmp_path / "set")) == [("short", 4, None, "")]


def test_a_dataset_without_episodes_is_empty(tmp_path):
    pick.write(tmp_path / "set", [])
    assert places(check(tmp_path / "set")) == [("empty", None, None, "")]


def test_what_passes_can_be_read_for_stage_1(written):
    for kind in ("image", "video"):
        assert len(list(load(written / kind, None, ROBOT, 16))) == len(SOUND)


def test_both_values_are_told(written, tmp_path):
    root = shutil.copytree(written / "image", tmp_path / "set")
    surgery.set_numbers(root, 2, "timestamp", gap)
    (finding,) = check(root).findings
    assert finding.severity == ERROR
    assert str(finding) == (
        "error   timestamp-gap: episode 2, frame 9, timestamp: 0.1200 s after the frame before; "
        "0.0500 s between frames at 20 fps"
    )


def test_a_camera_that_is_slower_than_the_dataset_is_a_warning(tmp_path):
    def every_second(images):
        images["front"][1::2] = images["front"][: 2 * (pick.length(2) // 2) : 2]

    pick.write(tmp_path / "set", changed(SOUND, 2, images=every_second))
    (finding,) = check(tmp_path / "set").findings
    assert (finding.severity, finding.code, finding.episode, finding.column) == (WARNING, "repeated-pictures", 2, FRONT)


def without_meanings(root):
    """As somebody else's dataset: nothing says what its columns mean."""
    path = root / "meta/info.json"
    content = json.loads(path.read_text())
    for key in (STATE, ACTION):
        del content["features"][key]["info"]
    path.write_text(json.dumps(content))


UNKNOWN = {
    "millimetres": (changed(SOUND, 1, proprio=millimetres), [("wild", 1, None, f"{STATE}/{n}") for n in "xyz"]),
    "a wild value": (
        changed(SOUND, 2, proprio=part("fx", 30, lambda _: 4000.0)),
        [("wild", 2, None, f"{STATE}/fx")],
    ),
    "frozen camera": (changed(SOUND, 2, images=freeze), [("frozen-camera", 2, 12, FRONT)]),
    "state that stands still": (changed(SOUND, 1, proprio=stuck_sensors), [("frozen-state", 1, 15, STATE)]),
    "nothing": (SOUND, []),
}


@pytest.mark.parametrize("fault", UNKNOWN)
def test_what_can_be_found_without_a_mapping(tmp_path, fault):
    demonstrations, expected = UNKNOWN[fault]
    pick.write(tmp_path / "set", demonstrations)
    without_meanings(tmp_path / "set")
    found = survey(DatasetReader(tmp_path / "set"), None, Limits()).findings
    assert [(f.code, f.episode, f.frame, f.column) for f in found if f.code != "no-mapping"] == expected


def test_limits_decide(written):
    result = check(written / "image", limits=Limits(min_frames=50))
    assert places(result) == [("short", 0, None, ""), ("short", 1, None, "")]
    assert WARNING not in {finding.severity for finding in result.findings}


def test_a_robot_config_that_does_not_fit_is_found(written):
    scaled = replace(ROBOT, action_scale=replace(ROBOT.action_scale, translation=0.01))
    slower = replace(ROBOT, control_rate=10.0)
    blind = replace(ROBOT, cameras={"front": "topic"})
    for robot, code, words in (
        (scaled, "mapping-action", "0.005 in the dataset, 0.01 in the robot config"),
        (slower, "mapping-rate", "20 fps; control_rate 10 Hz"),
        (blind, "mapping-cameras", "['front', 'wrist'] in the mapping; ['front'] in the robot config"),
    ):
        (finding,) = check(written / "image", robot).findings
        assert finding.code == code and words in str(finding)

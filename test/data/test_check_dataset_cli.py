"""The command: exit codes, text, JSON, checkpoints, datasets of others, pictures."""

import json
from pathlib import Path

import cv2
import numpy as np
import pick_dataset as pick
import pytest
import yaml
from own_dataset import foreign, foreign_mapping
from test_data_contract import CONTRACT

from rlt_ros.cli import main
from rlt_ros.data.check.limits import Limits, read_limits
from rlt_ros.data.check.sample import ROWS, Sample
from rlt_ros.data.lerobot.mapping import QUATERNION
from rlt_ros.data.norm import NormStats
from rlt_ros.strict import ConfigError
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

SAMPLES = Path(__file__).with_name("samples")
SOUND = pick.sound()


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("cli") / "set"
    pick.write(root, SOUND)
    return root


def report(capsys, *arguments):
    code = main(["check-dataset", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def codes(content):
    return [(f["severity"], f["code"]) for f in content["findings"]]


def test_a_sound_dataset_may_be_used(root, capsys):
    assert main(["check-dataset", str(root)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "check-dataset: Stage 1 may start: 0 errors, 0 warnings"
    assert "5 episodes, 250 frames at 20 fps" in out and "'pick the peg'" in out


def test_the_json_has_episodes_and_quantiles(root, capsys):
    code, content = report(capsys, root)
    assert (code, content["stage1_may_start"], content["findings"]) == (0, True, [])
    assert [e["frames"] for e in content["episodes"]] == [len(d.actions) for d in SOUND]
    assert [e["gripper_changes"] for e in content["episodes"]] == [1] * len(SOUND)
    assert [e["success"] for e in content["episodes"]] == [d.success for d in SOUND]
    (row,) = [row for row in content["dimensions"] if row["name"] == "vx"]
    values = np.concatenate([d.proprio[:, PROPRIO_NAMES.index("vx")] for d in SOUND]).astype(float)
    assert row["q01"] == pytest.approx(np.quantile(values, 0.01)) and row["max"] == values.max()


def test_an_error_is_exit_code_1_and_many_alike_are_one_line(root, capsys):
    assert main(["check-dataset", str(root), "--set", "min_frames=1e3", "--numbers-only"]) == 2
    assert main(["check-dataset", str(root), "--set", "min_frames=1000", "--numbers-only"]) == 1
    out = capsys.readouterr().out
    assert out.count("short: episode") == 5
    assert out.splitlines()[-1] == "check-dataset: Stage 1 must not start: 5 errors, 0 warnings"


@pytest.mark.parametrize("arguments", [["absent"], [".", "--set", "nothing"], [".", "--mapping", "absent.yaml"]])
def test_what_cannot_be_read_is_exit_code_2(tmp_path, capsys, arguments):
    assert main(["check-dataset", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
    assert capsys.readouterr().err.startswith("check-dataset: ")


def test_limits_come_from_a_file_and_from_arguments(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("min_frames: 3\nreach: 2\n")
    assert read_limits(str(path), ["reach=0.5"]) == Limits(min_frames=3, reach=0.5)
    for wrong in ("reach", "raech=1", "reach=far", "reach=-1"):
        with pytest.raises(ConfigError):
            read_limits("", [wrong])


def checkpoint(folder, names, values, **changes):
    norm = NormStats.of(values, names)
    folder.mkdir()
    norm.save(folder / "norm_stats.json")
    terms = {"norm_hash": norm.hash, "instruction": pick.TASK, "proprio_names": list(names)} | changes
    (folder / "config.json").write_text(json.dumps({"contract": CONTRACT.to_dict() | terms}))
    return folder


def test_a_checkpoint_of_the_same_data_fits(root, tmp_path, capsys):
    proprio = np.concatenate([d.proprio for d in SOUND])
    code, content = report(capsys, root, "--checkpoint", checkpoint(tmp_path / "one", PROPRIO_NAMES, proprio))
    assert (code, content["findings"]) == (0, [])
    assert content["checkpoint"]["frames"] == len(proprio)
    assert content["checkpoint"]["outside"] == dict.fromkeys(PROPRIO_NAMES, 0.0)


def test_a_checkpoint_that_reads_less_of_the_state_fits_too(root, tmp_path, capsys):
    names = PROPRIO_NAMES[:7]
    proprio = np.concatenate([d.proprio for d in SOUND])[:, :7]
    code, content = report(capsys, root, "--checkpoint", checkpoint(tmp_path / "one", names, proprio))
    assert (code, content["findings"], list(content["checkpoint"]["outside"])) == (0, [], list(names))


def test_frames_outside_a_checkpoints_normalisation_are_counted(root, tmp_path, capsys):
    proprio = np.concatenate([d.proprio for d in SOUND])
    shifted = proprio.copy()
    shifted[:, PROPRIO_NAMES.index("x")] += 0.2
    other = checkpoint(tmp_path / "one", PROPRIO_NAMES, shifted, translation_scale=0.01, instruction="insert it")
    code, content = report(capsys, root, "--checkpoint", other)
    assert code == 1 and content["checkpoint"]["outside"]["x"] == 1.0
    assert [(f["code"], f["severity"], f["column"]) for f in content["findings"]] == [
        ("checkpoint", "error", ""),
        ("checkpoint", "warning", ""),
        ("outside-norm", "error", "observation.state/x"),
    ]
    assert "translation_scale: 0.005 here" in content["findings"][0]["found"]
    main(["check-dataset", str(root), "--checkpoint", str(other)])
    assert "100.0% of the frames outside" in capsys.readouterr().out


def test_statistics_exchanged_in_a_checkpoint_are_found(root, tmp_path, capsys):
    proprio = np.concatenate([d.proprio for d in SOUND])
    code, content = report(
        capsys, root, "--checkpoint", checkpoint(tmp_path / "one", PROPRIO_NAMES, proprio, norm_hash="0" * 64)
    )
    assert code == 1 and "normalisation statistics" in content["findings"][0]["found"]


def test_without_a_checkpoint_where_one_is_named(root, tmp_path, capsys):
    assert main(["check-dataset", str(root), "--checkpoint", str(tmp_path)]) == 2
    assert "not a Stage-1 checkpoint" in capsys.readouterr().err


def test_a_dataset_of_others_is_checked_as_far_as_its_columns_say(tmp_path, capsys):
    foreign(tmp_path / "set", SOUND[0].proprio, SOUND[0].actions, ACTION_NAMES)
    code, content = report(capsys, tmp_path / "set", "--numbers-only")
    assert (code, codes(content)) == (0, [("warning", "no-mapping")])
    assert content["episodes"][0]["gripper_changes"] == 1
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(yaml.safe_dump(foreign_mapping()))
    code, content = report(capsys, tmp_path / "set", "--mapping", mapping)
    # Its pictures are black, both cameras'.
    assert (code, codes(content)) == (1, [("error", "blank")] * 2)
    mapping.write_text(yaml.safe_dump(foreign_mapping(gripper={"open": -1.0, "closed": 1.0})))
    assert codes(report(capsys, tmp_path / "set", "--numbers-only", "--mapping", mapping)[1]) == [
        ("error", "gripper-sign")
    ]
    mapping.write_text(yaml.safe_dump(foreign_mapping(gripper={"open": 0.08, "closed": 0.0})))
    assert codes(report(capsys, tmp_path / "set", "--numbers-only", "--mapping", mapping)[1]) == [
        ("error", "action-range")
    ]


def quaternions(length=1.0, flip=None):
    turned = np.tile([0.6, 0.0, 0.0, 0.8], (40, 1)) * length
    if flip is not None:
        turned[flip:] *= -1
    return np.concatenate([np.random.default_rng(0).normal(0, 0.1, (40, 3)), turned], axis=1)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (quaternions(), []),
        (quaternions(length=1.2), ["quaternion-length"]),
        (quaternions(flip=20), ["quaternion-sign"]),
    ],
)
def test_quaternions_in_a_dataset_of_others(tmp_path, capsys, states, expected):
    actions = np.random.default_rng(1).normal(0, 0.1, (40, 7))
    foreign(tmp_path / "set", states, actions, ACTION_NAMES, state_names=("x", "y", "z", *QUATERNION))
    _, content = report(capsys, tmp_path / "set", "--numbers-only")
    found = [f for f in content["findings"] if f["code"] not in ("no-mapping", "constant")]
    assert [f["code"] for f in found] == expected
    assert [f["frame"] for f in found if f["code"] == "quaternion-sign"] == [20] * ("quaternion-sign" in expected)


@pytest.mark.parametrize("version", ["v21_image", "v21_video", "v30_image", "v30_video"])
def test_samples_that_lerobot_wrote(capsys, version):
    code, content = report(capsys, SAMPLES / version)
    kinds = {f["code"] for f in content["findings"]}
    assert code == 1 and content["frames"] == 16
    # 4 to 7 frames of one colour; older versions of LeRobot keep no quantiles (report B23).
    assert kinds == {"short", "blank", "no-mapping"} | ({"stats-quantiles"} if version.startswith("v21") else set())


def test_a_sample_keeps_within_its_size_and_is_exact_below_it():
    rows, sample, small = np.arange(3.0 * ROWS).reshape(-1, 1), Sample(), Sample()
    for part in np.array_split(rows, 7):
        sample.add(part)
        small.add(part[:100])
    np.testing.assert_array_equal(small.rows, np.concatenate([p[:100] for p in np.array_split(rows, 7)]))
    assert ROWS / 2 <= len(sample.rows) <= ROWS
    assert len(np.unique(np.diff(sample.rows[:, 0]))) == 1


def test_pictures_for_people(root, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["check-dataset", str(root), "--pictures", str(tmp_path / "out")]) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["camera_front.png", "camera_wrist.png", "ranges.png"]
    sheet = cv2.imread(str(tmp_path / "out/camera_front.png"))
    # A frame's bright spot is on the sheet: BGR (60, 240, 240), once for each of five episodes and three frames.
    spots, _ = cv2.connectedComponents((np.abs(sheet.astype(int) - (60, 240, 240)).max(axis=2) < 12).astype(np.uint8))
    assert spots - 1 >= 15
    assert cv2.imread(str(tmp_path / "out/ranges.png")).std() > 10

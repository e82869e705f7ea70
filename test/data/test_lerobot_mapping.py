"""A dataset's columns in our words: conventions, units, mismatches that name both sides (field reports A09, A26)."""

from dataclasses import replace

import numpy as np
import own_dataset
import pytest
import yaml
from own_dataset import ROBOT, demonstration, foreign, foreign_mapping

from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.mapping import DatasetMapping, load_mapping
from rlt_ros.robot.pose import Pose
from rlt_ros.strict import ConfigError, build
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

DEMO = demonstration()


def mapping(**changes):
    return build(DatasetMapping, foreign_mapping(**changes), "mapping.yaml")


def only(root, mapping, robot=ROBOT):
    (episode,) = load(root, mapping, robot, own_dataset.SIZE)
    return episode


def test_our_convention_under_other_names(tmp_path):
    foreign(tmp_path / "set", DEMO.proprio, DEMO.actions, ACTION_NAMES)
    got = only(tmp_path / "set", mapping())
    np.testing.assert_array_equal(got.actions, DEMO.actions)
    np.testing.assert_array_equal(got.proprio, DEMO.proprio)
    assert got.success and got.offset is None and got.instruction == "do it"


def test_the_file_says_the_same(tmp_path):
    path = tmp_path / "mapping.yaml"
    path.write_text(yaml.safe_dump(foreign_mapping()))
    assert load_mapping(path) == mapping()


def test_metric_deltas_are_divided_by_the_robots_scale(tmp_path):
    scale = np.repeat([0.005, 0.05], 3)
    metric = np.concatenate([DEMO.actions[:, :6] * scale, DEMO.actions[:, 6:]], axis=1)
    foreign(tmp_path / "set", DEMO.proprio, metric, ACTION_NAMES)
    got = only(tmp_path / "set", mapping(**{"action.convention": "metric_delta"}))
    np.testing.assert_allclose(got.actions, DEMO.actions, atol=1e-6)


def targets(actions, start):
    """Poses that actions lead to from the start, one after the other."""
    pose, result = start, []
    for action in actions:
        pose = ROBOT.action_space.target(pose, action)
        result.append(pose)
    return result


@pytest.mark.parametrize("rotation", ["quaternion", "vector"])
def test_absolute_poses_become_the_deltas_that_made_them(tmp_path, rotation):
    measured = ROBOT.reference.moved(DEMO.proprio[0, 1:4], DEMO.proprio[0, 4:7])
    poses = targets(DEMO.actions, measured)
    turned = [p.quaternion if rotation == "quaternion" else p.rotation.as_rotvec() for p in poses]
    width = 0.04 * (DEMO.actions[:, 6:] + 1.0)
    values = np.concatenate([[p.position for p in poses], turned, width], axis=1)
    names = [f"target_{i}" for i in range(values.shape[1])]
    foreign(tmp_path / "set", DEMO.proprio, values, names)
    pose = {"elements": [f"action/{name}" for name in names], "convention": "pose"}
    got = only(tmp_path / "set", mapping(action=pose, gripper={"open": 0.08, "closed": 0.0}))
    np.testing.assert_allclose(got.actions, DEMO.actions, atol=2e-4)


def test_with_measured_anchoring_deltas_start_from_the_measured_pose(tmp_path):
    robot = replace(ROBOT, anchor="measured")
    poses = [ROBOT.reference.moved(row[1:4], row[4:7]) for row in DEMO.proprio]
    goals = [ROBOT.action_space.target(pose, action) for pose, action in zip(poses, DEMO.actions)]
    values = [[*p.position, *p.quaternion, -1.0] for p in goals]
    names = [f"target_{i}" for i in range(8)]
    foreign(tmp_path / "set", DEMO.proprio, values, names)
    pose = {"elements": [f"action/{name}" for name in names], "convention": "pose"}
    np.testing.assert_allclose(only(tmp_path / "set", mapping(action=pose), robot).actions, DEMO.actions, atol=2e-4)


def test_a_state_in_the_base_frame_with_quaternions_and_millimetres(tmp_path):
    poses = [ROBOT.reference.moved(row[1:4], row[4:7]) for row in DEMO.proprio]
    names = ["width_mm", "px", "py", "pz", "qx", "qy", "qz", "qw", *PROPRIO_NAMES[7:13]]
    states = [[r[0] * 1e3, *p.position, *p.quaternion, *r[7:13]] for r, p in zip(DEMO.proprio, poses)]
    foreign(tmp_path / "set", states, DEMO.actions, ACTION_NAMES, names)
    ours = ["gripper_width", "x", "y", "z", "qx", "qy", "qz", "qw", *PROPRIO_NAMES[7:13]]
    state = {
        "elements": {name: f"observation.state/{theirs}" for name, theirs in zip(ours, names)},
        "pose": "base",
        "scale": {"gripper_width": 0.001},
        "absent": list(PROPRIO_NAMES[13:]),
    }
    got = only(tmp_path / "set", mapping(state=state))
    np.testing.assert_allclose(got.proprio[:, :13], DEMO.proprio[:, :13], atol=1e-6)
    np.testing.assert_array_equal(got.proprio[:, 13:], 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action.translation_scale": 0.01}, r"translation scale of an action: 0\.01 in the dataset, 0\.005 in the ro"),
        ({"action.rotation_scale": 0.1}, r"rotation scale of an action: 0\.1 in the dataset, 0\.05 in the robot"),
        ({"action.anchor": "measured"}, "anchor: 'measured' in the dataset, 'last_target' in the robot config"),
        ({"state.reference": [0.4, 0, 0.16, 1, 0, 0, 0]}, r"reference pose: \(0\.4, .* in the dataset, \(0\.5, "),
        ({"cameras": {"front": "observation.images.cam_high"}}, r"cameras: \['front'\] in the mapping, \['front', 'w"),
        ({"cameras": {"front": "a", "wrist": "b"}}, r"camera front: no pictures 'a' in the dataset; there are \['obs"),
        ({"success": "next.success"}, r"no column 'next\.success'; there are"),
        ({"action.elements": ["action/vx"] * 7}, r"no element 'vx' in action; there are \['dx', 'dy'"),
        ({"action.elements": ["velocity/vx"] * 7}, r"no column 'velocity' of numbers; there are"),
    ],
)
def test_a_mismatch_names_both(tmp_path, changes, message):
    foreign(tmp_path / "set", DEMO.proprio, DEMO.actions, ACTION_NAMES)
    with pytest.raises(DatasetError, match=message):
        load(tmp_path / "set", mapping(**changes), ROBOT, own_dataset.SIZE)


def test_another_frame_rate_is_refused_naming_both(tmp_path):
    foreign(tmp_path / "set", DEMO.proprio, DEMO.actions, ACTION_NAMES, fps=30)
    with pytest.raises(DatasetError, match=r"fps: 30 in .*set, control_rate 20\.0 Hz in the robot config"):
        load(tmp_path / "set", mapping(), ROBOT, own_dataset.SIZE)


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([-1, -1, -1, 1, 1, 1], False),
        ([1, 1, 1, 1, 1, 1], False),
        ([-1, -0.5, 0.1, 0.6, 1, 1], False),
        ([0.0, 0.0, 0.04, 0.04, 0.08, 0.08], True),
        ([0, 0, 0, 1, 1, 1], True),
        ([0, 0, 0, 0, 0, 0], True),
        ([0, 100, 100, 200, 255, 255], True),
    ],
)
def test_a_gripper_of_another_sign_or_unit_is_noticed(tmp_path, values, refused):
    actions = DEMO.actions.copy()
    actions[:, 6] = values
    foreign(tmp_path / "set", DEMO.proprio, actions, ACTION_NAMES)
    if refused:
        with pytest.raises(
            DatasetError, match=rf"gripper: .* to {max(values)} in the dataset, open 1\.0, closed -1\.0"
        ):
            load(tmp_path / "set", mapping(), ROBOT, own_dataset.SIZE)
    else:
        np.testing.assert_allclose(only(tmp_path / "set", mapping()).actions[:, 6], values, atol=1e-6)


def test_the_gripper_may_be_the_other_way_round(tmp_path):
    actions = DEMO.actions.copy()
    actions[:, 6] = [0, 0, 0, 1, 1, 1]
    foreign(tmp_path / "set", DEMO.proprio, actions, ACTION_NAMES)
    got = only(tmp_path / "set", mapping(gripper={"open": 0.0, "closed": 1.0}))
    np.testing.assert_array_equal(got.actions[:, 6], [1, 1, 1, -1, -1, -1])


def test_a_width_in_another_unit_is_noticed(tmp_path):
    states = DEMO.proprio * ([1000] + [1] * 18)
    foreign(tmp_path / "set", states, DEMO.actions, ACTION_NAMES)
    with pytest.raises(DatasetError, match=r"gripper_width 16 to 16 m in the dataset, 0\.0 to 0\.08 m in the robot"):
        only(tmp_path / "set", mapping())


def test_a_motion_faster_than_the_robots_scale_is_refused_or_clipped(tmp_path):
    actions = DEMO.actions.copy()
    actions[2, 1] = 1.7
    foreign(tmp_path / "set", DEMO.proprio, actions, ACTION_NAMES)
    with pytest.raises(DatasetError, match=r"episode 0: dy of step 2 is 1\.7 of the action scale"):
        only(tmp_path / "set", mapping())
    assert only(tmp_path / "set", mapping(**{"action.clip": True})).actions[2, 1] == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state.pose": "world"}, "pose is 'world'; expected 'reference' or 'base'"),
        ({"state.reference": []}, "reference has 0 numbers"),
        ({"state.elements": {"x": "observation.state/x"}}, "missing .*'y'"),
        ({"state.absent": ["fx"]}, "unknown or twice"),
        ({"state.scale": {"gripper_width": "mm"}}, "gripper_width: expected float, found 'mm'"),
        ({"state.scale": {"force": 2.0}}, "force"),
        ({"action.convention": "velocity"}, "convention is 'velocity'"),
        ({"action.elements": ["action/dx"]}, "elements has 1 entries; 'delta' needs 7"),
        ({"action.translation_scale": 0.0}, r"are 0\.0 and 0\.05; 'delta' needs both"),
        ({"gripper": {"open": 1.0, "closed": 1.0}}, r"both 1\.0"),
        ({"grippr": {}}, "unknown key 'grippr'"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_when_it_is_read(changes, message):
    with pytest.raises(ConfigError, match=message):
        mapping(**changes)


def test_moved_poses_use_the_robots_frames():
    """What the tests above take for granted: the reference pose points down, deltas run along the base axes."""
    moved = ROBOT.reference.moved(np.array([0.01, 0.0, 0.0]), np.zeros(3))
    assert isinstance(moved, Pose)
    np.testing.assert_allclose(moved.position, [0.51, 0.0, 0.16])

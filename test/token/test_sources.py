"""Where demonstrations come from; pictures that do not fit into memory; real datasets."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from stage1_example import CONFIG, episodes_of, small_stage1

from rlt_ros.data.contract import ContractMismatch, read_contract
from rlt_ros.data.demos import DemonstrationError
from rlt_ros.robot.config import load_robot
from rlt_ros.token import demonstrate_cli
from rlt_ros.token.checkpoint import read_metrics
from rlt_ros.token.config import DatasetConfig, FitConfig, RunConfig
from rlt_ros.token.corpus import Corpus, held_back
from rlt_ros.token.run import Run
from rlt_ros.token.sources import record
from rlt_ros.token.spool import Spool
from rlt_ros.token.stage1 import run_stage1, train
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

FIT = FitConfig(steps=8, batch=8)
SMALL = replace(CONFIG, demonstrations=4, fit_vla=FIT, fit_token=FIT)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A LeRobot dataset of the simulated demonstrator: 3 episodes, exact pictures of 48 pixels."""
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("dataset") / "peg"
    assert demonstrate_cli.main(["--out", str(path), "--episodes", "3", "--size", "48"]) == 0
    return path


def of(path):
    return replace(SMALL, dataset=DatasetConfig(str(path)))


def test_stage_1_on_a_lerobot_dataset(dataset, tmp_path):
    run_stage1(of(dataset), load_robot(), 0, tmp_path / "stage1")
    metrics = read_metrics(tmp_path / "stage1")
    assert metrics["dataset"] == str(dataset) and len(metrics["dataset_hash"]) == 64
    assert metrics["probe_z_mm"] is not None
    read_contract(tmp_path / "stage1").check_robot(load_robot())


def test_a_dataset_gives_what_was_recorded(dataset):
    stored = record(of(dataset), load_robot(), 0, 32, Run()).episodes
    simulated = record(replace(SMALL, demonstrations=3), load_robot(), 0, 32, Run()).episodes
    for a, b in zip(stored, simulated):
        np.testing.assert_array_equal(a.actions, b.actions)
        assert a.success == b.success and a.images["wrist"].shape == b.images["wrist"].shape


def test_a_dataset_with_another_instruction_is_refused_with_both(dataset):
    with pytest.raises(ContractMismatch, match="instruction of episode 0: 'plug it in' here, 'insert the peg' there"):
        record(replace(of(dataset), instruction="plug it in"), load_robot(), 0, 32, Run())


def test_a_directory_that_is_no_dataset_is_named(tmp_path):
    with pytest.raises(ValueError, match=str(tmp_path)):
        record(of(tmp_path), load_robot(), 0, 32, Run())


def test_pictures_on_disk_are_those_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("rlt_ros.token.sources._simulated", lambda *given: iter(episodes_of(4)))
    vla = small_stage1().vla
    in_memory = record(SMALL, load_robot(), 0, 32, Run())
    on_disk = record(SMALL, load_robot(), 0, 32, Run(config=RunConfig(frames=str(tmp_path / "frames"))))
    assert in_memory.pictures is None and all(episode.images == {} for episode in on_disk.episodes)
    a, b = (Corpus.of(r.episodes, SMALL, vla, 0, pictures=r.pictures) for r in (in_memory, on_disk))
    assert isinstance(b.frames.images["front"], np.memmap)
    assert a.identity == b.identity
    rows = np.array([70, 3, 3, 25])
    for name, pictures in a.batch(rows, "go").images.items():
        np.testing.assert_array_equal(b.batch(rows, "go").images[name], pictures)


def test_a_spool_refuses_other_sizes_and_replaces_what_was_there(tmp_path):
    for size in (32, 16):
        spool = Spool(tmp_path)
        spool.take(episodes_of(1, size=size)[0])
        told = rf"\({size}, {size}, 3\).* before, .*\(8, 8, 3\).* in demonstration 0"
        with pytest.raises(DemonstrationError, match=told):
            spool.take(episodes_of(1, size=8)[0])
        spool.close()
        assert spool.pictures()["front"].shape == (20, size, size, 3)


def test_cameras_that_the_vla_does_not_need_are_left_out_and_missing_ones_named():
    vla = small_stage1().vla
    episodes = [replace(e, images=e.images | {"side": e.images["front"]}) for e in episodes_of(2)]
    assert set(Corpus.of(episodes, CONFIG, vla, 0).frames.images) == {"front", "wrist"}
    blind = [replace(e, images={"side": e.images["front"]}) for e in episodes_of(2)]
    with pytest.raises(DemonstrationError, match=r"cameras \['side'\]; the VLA needs \['front', 'wrist'\]"):
        Corpus.of(blind, CONFIG, vla, 0)


def test_demonstrations_without_offsets_or_failures_have_no_such_figures():
    episodes = [replace(e, offset=None, success=True) for e in episodes_of(5)]
    _, metrics = train(SMALL, load_robot(), episodes, seed=0)
    assert "probe_z_mm" not in metrics and np.isnan(metrics["probe_z_auc"])


def test_whole_episodes_are_held_back_and_the_seed_chooses():
    assert len(held_back(range(20), 0.1, 0)) == 2 and len(held_back(range(3), 0.1, 0)) == 1
    assert held_back(range(20), 0.0, 0).size == 0
    assert set(held_back(range(20), 0.2, 0)) == set(held_back(range(20), 0.2, 0)) != set(held_back(range(20), 0.2, 1))
    with pytest.raises(ValueError, match="validation 0.5 of 1 episodes leaves none"):
        held_back([7], 0.5, 0)


def test_what_a_dataset_lacks_is_not_given_to_a_policy(dataset, tmp_path):
    """Zero in training, a raw measurement on the robot: left out by name, or refused with the indices that are left."""
    robot, forces = load_robot(), PROPRIO_NAMES[13:]
    pose = robot.reference_pose
    scale = {"translation_scale": robot.action_scale.translation, "rotation_scale": robot.action_scale.rotation}
    content = {
        "cameras": {name: f"observation.images.{name}" for name in robot.cameras},
        "state": {
            "pose": "reference",
            "reference": [*pose.position, *pose.quaternion],
            "elements": {name: f"observation.state/{name}" for name in PROPRIO_NAMES if name not in forces},
            "absent": list(forces),
        },
        "action": {
            "elements": [f"action/{name}" for name in ACTION_NAMES],
            "convention": "delta",
            "anchor": robot.anchor,
            **scale,
        },
        "gripper": {"open": 1.0, "closed": -1.0},
    }
    path = tmp_path / "mapping.yaml"
    path.write_text(yaml.safe_dump(content))
    config = replace(of(dataset), dataset=DatasetConfig(str(dataset), str(path)))
    with pytest.raises(ValueError) as caught:
        record(config, robot, 0, 32, Run())
    assert all(name in str(caught.value) for name in forces)
    assert f"state_indices: {list(range(13))}" in str(caught.value)
    left = replace(config, state_indices=tuple(range(13)))
    assert len(record(left, robot, 0, 32, Run()).episodes) == 3

"""Snapshots of a training: whole or absent, and only for the run that made them (field reports A17, A18, A26)."""

import pytest
import torch

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.token.snapshots import SnapshotError, Snapshots

RECIPE = {"learn": {"token": {"dim": 8}, "state_indices": (0, 1)}, "seed": 1, "statistics": "abc"}


@pytest.fixture
def snapshots(tmp_path):
    return Snapshots(tmp_path, RECIPE, keep=2)


def save(snapshots, step, stage="vla"):
    return snapshots.save(stage, step, {"weights.a": torch.full((3,), float(step))}, {"step": step})


def test_the_newest_of_a_stage_comes_back(snapshots):
    for step in (200, 1000):
        save(snapshots, step)
    save(snapshots, 2000, "token")
    tensors, values = snapshots.newest("vla")
    assert values == {"step": 1000} and torch.equal(tensors["weights.a"], torch.full((3,), 1000.0))
    assert snapshots.newest("joint") is None


def test_older_ones_go_when_a_newer_one_is_whole(snapshots, tmp_path):
    for step in range(100, 600, 100):
        save(snapshots, step)
    assert [path.name for path in snapshots.of("vla")] == ["vla-000400", "vla-000500"]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_newest_of_a_long_training_stays(snapshots):
    """A million has a digit more than the names are padded to."""
    for step in (999_000, 1_000_000, 1_001_000):
        save(snapshots, step)
    assert snapshots.newest("vla")[1] == {"step": 1_001_000}
    assert [path.name for path in snapshots.of("vla")] == ["vla-1000000", "vla-1001000"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "recipe.seed: 2 here, 1 there"),
        ({"learn": {"token": {"dim": 9}, "state_indices": (0, 1)}}, "recipe.learn.token.dim: 9 here, 8 there"),
        ({"statistics": "xyz"}, "recipe.statistics: 'xyz' here, 'abc' there"),
        ({"data": "new"}, "recipe.data: 'new' here, None there"),
    ],
)
def test_another_recipe_is_refused_with_both_values(snapshots, tmp_path, change, message):
    save(snapshots, 100)
    with pytest.raises(ContractMismatch, match=message):
        Snapshots(tmp_path, RECIPE | change, keep=2).newest("vla")


def test_a_damaged_one_is_named(snapshots):
    path = save(snapshots, 100)
    whole = (path / "tensors.safetensors").read_bytes()
    (path / "tensors.safetensors").write_bytes(whole[:40])
    with pytest.raises(SnapshotError, match="vla-000100: cannot be read"):
        snapshots.newest("vla")


def test_a_full_disk_leaves_the_last_one(snapshots, monkeypatch):
    save(snapshots, 100)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rlt_ros.token.snapshots.save_file", full)
    with pytest.raises(SnapshotError, match="vla-000200 is not written, earlier ones stand: .*No space left"):
        save(snapshots, 200)
    assert [path.name for path in snapshots.folder.iterdir()] == ["vla-000100"]
    assert snapshots.newest("vla")[1] == {"step": 100}

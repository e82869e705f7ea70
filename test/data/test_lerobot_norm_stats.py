"""`rlt norm-stats` and the hash of a dataset's content (field report A26)."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import own_dataset
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_dataset import demonstration

from rlt_ros.cli import main
from rlt_ros.data.contract import ContractMismatch
from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.hashing import dataset_hash
from rlt_ros.data.lerobot.norm_stats import DatasetNorm
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.norm import NormStats
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

SAMPLES = Path(__file__).with_name("samples")
EPISODES = [demonstration(number, 5 + number) for number in range(3)]


@pytest.fixture
def root(tmp_path):
    own_dataset.write(tmp_path / "set", EPISODES)
    return tmp_path / "set"


def hash_of(root):
    return dataset_hash(DatasetReader(root))


def test_the_statistics_are_those_of_all_frames(root, capsys):
    assert main(["norm-stats", str(root)]) == 0
    norm = DatasetNorm.load(root / "meta/rlt_norm_stats.json")
    proprio = np.concatenate([d.proprio for d in EPISODES])
    assert norm.proprio.hash == NormStats.of(proprio, PROPRIO_NAMES).hash
    actions = np.concatenate([d.actions for d in EPISODES]).astype(np.float64)
    np.testing.assert_array_equal(norm.action.q99, np.quantile(actions, 0.99, axis=0))
    assert (norm.episodes, norm.frames, norm.action.names) == (3, 18, ACTION_NAMES)
    told = capsys.readouterr().out
    assert norm.dataset == hash_of(root) and norm.dataset in told
    assert told.count("\nstate/rx ") == told.count("\naction/rx ") == 1


def test_several_datasets_count_as_their_union(root, tmp_path, capsys):
    other = tmp_path / "other"
    own_dataset.write(other, [demonstration(7, 30)])
    assert main(["norm-stats", str(root), str(other)]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["norm-stats", str(root), str(other), "--out", str(tmp_path / "norm.json")]) == 0
    norm = DatasetNorm.load(tmp_path / "norm.json")
    union = np.concatenate([d.proprio for d in (*EPISODES, demonstration(7, 30))])
    assert norm.proprio.hash == NormStats.of(union, PROPRIO_NAMES).hash
    assert norm.dataset not in (hash_of(root), hash_of(other))


def test_bad_input_is_named_and_nothing_is_written(root, tmp_path, capsys):
    assert main(["norm-stats", str(tmp_path / "absent")]) == 1
    assert "absent" in capsys.readouterr().err
    (root / "data/chunk-000/file-001.parquet").unlink()
    assert main(["norm-stats", str(root)]) == 1
    assert "file-001.parquet" in capsys.readouterr().err
    assert not (root / "meta/rlt_norm_stats.json").exists()


def test_a_statistics_file_of_another_dataset_is_noticed(root, tmp_path):
    main(["norm-stats", str(root)])
    norm = DatasetNorm.load(root / "meta/rlt_norm_stats.json")
    norm.check_dataset(hash_of(root))
    own_dataset.write(tmp_path / "other", [demonstration(7)])
    with pytest.raises(ContractMismatch, match="dataset of the normalisation statistics: .* here, .* there"):
        norm.check_dataset(hash_of(tmp_path / "other"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"bad\.json"):
        DatasetNorm.load(tmp_path / "bad.json")


def test_the_hash_does_not_know_paths_times_or_statistics(root, tmp_path):
    before = hash_of(root)
    main(["norm-stats", str(root)])
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(root, copy)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    (copy / "meta/stats.json").unlink()
    assert hash_of(copy) == before


def test_the_hash_is_the_same_in_both_versions_of_the_format():
    """LeRobot 0.3.3 and main wrote the same frames; its own conversion of videos is in test_lerobot_official.py."""
    assert hash_of(SAMPLES / "v21_image") == hash_of(SAMPLES / "v30_image")


def change_number(root):
    path = root / "data/chunk-000/file-001.parquet"
    table = pq.read_table(path)
    values = np.stack(table["action"].to_pylist()).astype(np.float32)
    values[3, 2] = np.nextafter(values[3, 2], np.float32(2.0))
    column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 7)
    pq.write_table(table.set_column(table.column_names.index("action"), "action", column), path)


def change_picture(root):
    path = root / "data/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    cells = table["observation.images.wrist"].to_pylist()
    cells[1], cells[2] = cells[2], cells[1]
    index = table.column_names.index("observation.images.wrist")
    column = pa.array(cells, table["observation.images.wrist"].type)
    pq.write_table(table.set_column(index, "observation.images.wrist", column), path)


def change_task(root):
    table = pq.read_table(root / "meta/tasks.parquet")
    pq.write_table(table.set_column(1, "task", pa.array(["Insert the peg"])), root / "meta/tasks.parquet")


def change_rate(root):
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fps": 10}))


@pytest.mark.parametrize("change", [change_number, change_picture, change_task, change_rate])
def test_the_hash_sees_every_change_of_content(root, change):
    before = hash_of(root)
    change(root)
    assert hash_of(root) != before

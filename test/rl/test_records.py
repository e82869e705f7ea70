"""docs/records.md is true: its snippets read what a run wrote, and its tables name everything that is there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.checkpoint import REPLAY, save_checkpoint
from rlt_ros.rl.codec import SCALARS
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.stored import StoredFile

TEXT = (Path(__file__).parents[2] / "docs" / "records.md").read_text()
JOURNAL, REPLAY_READER = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
MADE = rows(24)


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    learner = Learner(small_config(), DIMS, CONTRACT, 5.0)
    learner.add(MADE)
    return save_checkpoint(tmp_path, learner)


def test_the_journal_is_read_by_a_snippet_that_knows_nothing_of_this_package(tmp_path):
    assert "rlt_ros" not in JOURNAL
    journal = Journal(tmp_path)
    for row in MADE:
        journal.append(row)
    journal.flush()
    names: dict = {}
    exec(JOURNAL, names)
    found = list(names["read"](tmp_path / "000001.rlt"))
    assert [scalars["id"] for scalars, _ in found] == list(range(1, 25))
    for row, (scalars, arrays) in zip(MADE, found):
        assert set(scalars) == set(SCALARS)
        np.testing.assert_array_equal(arrays["actions"], row.actions)
        assert arrays["features"][:, 0].tolist() == [f.id for f in row.features]
        for i, features in enumerate(row.features):
            np.testing.assert_array_equal(arrays[f"features.{i}.z"], features.z)
    with (tmp_path / "000001.rlt").open("ab") as file:
        file.write(b"\x09\x00\x00\x00torn")
    with pytest.raises(AssertionError, match="unfinished or damaged"):
        list(names["read"](tmp_path / "000001.rlt"))


def test_the_replay_is_read_by_a_snippet_that_knows_nothing_of_this_package(checkpoint):
    assert "rlt_ros" not in REPLAY_READER
    names: dict = {}
    here = os.getcwd()
    os.chdir(checkpoint)
    try:
        exec(REPLAY_READER, names)
    finally:
        os.chdir(here)
    known = {f.id: f.z for row in MADE for f in row.features}
    for place, number in enumerate(names["tensors"]["rows.id"].tolist()):
        row = MADE[number - 1]
        np.testing.assert_array_equal(names["z"][place], known[row.features_id])
        np.testing.assert_array_equal(names["next_z"][place], known[row.next_features_id or row.features_id])


def test_every_field_and_tensor_is_in_the_tables(checkpoint):
    told = set(re.findall(r"`([a-z_.]+)`", TEXT))
    with safe_open(checkpoint / REPLAY, "numpy") as file:
        tensors = set(file.keys())
    missing = {name for name in tensors if name not in told and f".{name.split('.')[1]}" not in told}
    assert missing == set()
    assert set(SCALARS) <= told
    assert set(json.loads((checkpoint / "state.json").read_text())["checksums"]) <= told


def test_stored_rows_come_back_as_they_were_added_oldest_first(tmp_path):
    """After a wrap of the ring: all but observations' stamps and the tail of the reference."""
    learner = Learner(small_config(replay_capacity=20), DIMS, CONTRACT, 5.0)
    learner.add(MADE)
    found = list(StoredFile(save_checkpoint(tmp_path, learner) / REPLAY).rows())
    assert [row.id for row in found] == list(range(5, 25))
    known = {f.id: f for row in MADE for f in row.features}
    carried = set()
    for row, made in zip(found, MADE[4:]):
        for name in (*SCALARS, "actions", "drivers", "rewards"):
            np.testing.assert_array_equal(getattr(row, name), getattr(made, name), name)
        for features in row.features:
            assert features.id not in carried
            np.testing.assert_array_equal(features.z, known[features.id].z)
            np.testing.assert_array_equal(features.reference, known[features.id].reference[:4])
            carried.add(features.id)
        assert {i for i in (row.features_id, row.next_features_id) if i} <= carried

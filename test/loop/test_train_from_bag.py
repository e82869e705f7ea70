"""`rlt train BAG`: the learner of a recorded run, rebuilt from the topic that its rows went over."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import CONTRACT, rows
from test_train import assert_same_learning, lived, reopened, train

pytest.importorskip("rosbags")

from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.definitions import message_folder, own_types, typestore
from rlt_ros.data.bags.rows import contracted_rows
from rlt_ros.data.bags.versions import differences
from rlt_ros.rl.codec import encode
from rlt_ros.types import Features, Transition

STORE = typestore()
TYPE = STORE.types


def header(stamp: int):
    time = TYPE["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    return TYPE["std_msgs/msg/Header"](stamp=time, frame_id="")


def features_message(features: Features):
    return TYPE["rlt_ros/msg/Features"](
        header=header(features.stamp), id=features.id, episode=features.episode, step=features.step, contract=CONTRACT,
        z_rl=features.z, proprio=features.proprio, reference=features.reference.ravel(),
        horizon=features.reference.shape[0], action_dim=features.reference.shape[1],
    )  # fmt: skip


def message(row: Transition, contract: str):
    return TYPE["rlt_ros/msg/Transition"](
        header=header(0), contract=contract, stream=row.stream, id=row.id, episode=row.episode, phase_id=row.phase_id,
        step=row.step, features_id=row.features_id, next_features_id=row.next_features_id,
        actions=row.actions.ravel(), drivers=row.drivers, rewards=row.rewards, horizon=row.actions.shape[0],
        action_dim=row.actions.shape[1], valid_horizon=row.valid_horizon, terminated=row.terminated,
        truncated=row.truncated, label=int(row.label), steps_to_end=row.steps_to_end,
        weights_version=row.weights_version, last_of_phase=row.last_of_phase,
        features=[features_message(f) for f in row.features],
    )  # fmt: skip


def recorded(path: Path, messages: list[Transition], contract: str = CONTRACT) -> Path:
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/rlt/transition", "rlt_ros/msg/Transition", typestore=STORE)
        for number, row in enumerate(messages):
            data = STORE.serialize_cdr(message(row, contract), "rlt_ros/msg/Transition")
            writer.write(connection, 10**18 + number, data)
    return path


def as_sent(count: int = 64) -> list[Transition]:
    """Rows of a run as the actor sends them: some again, some of those late."""
    sent = list(rows(count, stream="s"))
    draw = random.Random(1)
    for row in draw.sample(sent, 10):
        sent.insert(sent.index(row) + draw.randrange(1, 4), row)
    return sent


def test_the_bag_of_a_live_run_gives_its_weights_bit_for_bit(tmp_path: Path) -> None:
    live = lived(tmp_path / "live")
    bag = recorded(tmp_path / "live" / "bag", as_sent())
    for name in ("once", "twice"):
        assert train(bag, "--out", tmp_path / name) == 0
        assert_same_learning(live, reopened(tmp_path / name))
    once, twice = ((tmp_path / name / "policy.safetensors").read_bytes() for name in ("once", "twice"))
    assert once == twice


def test_rows_are_those_of_the_run(tmp_path: Path) -> None:
    bag = recorded(tmp_path / "bag", as_sent())
    found = [row for _, row in contracted_rows(bag)]
    assert [encode(row) for row in found] == [encode(row) for row in rows(64, stream="s")]


def test_rows_that_came_in_another_order(tmp_path: Path) -> None:
    sent = list(rows(64, stream="s"))
    sent[10], sent[11] = sent[11], sent[10]
    found = [row.id for _, row in contracted_rows(recorded(tmp_path / "bag", sent))]
    assert found == list(range(1, len(sent) + 1))


def test_a_bag_that_lacks_a_row(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sent = [row for row in rows(64, stream="s") if row.id != 7]
    bag = recorded(tmp_path / "bag", sent)
    assert train(bag, "--out", tmp_path / "out", "--checkpoint", tmp_path) == 1
    assert f"{bag}: row 7 of stream 's' is missing; 57 follow it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_bag_of_another_contract_than_its_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lived(tmp_path / "live")
    bag = recorded(tmp_path / "live" / "bag", as_sent(), contract="other")
    assert train(bag, "--out", tmp_path / "out") == 1
    assert f"{bag}: contract is 'other'; expected {CONTRACT!r}" in capsys.readouterr().err


def test_a_bag_alone_needs_the_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    bag = recorded(tmp_path / "bag", as_sent())
    assert train(bag, "--out", tmp_path / "out") == 1
    assert f"{bag} does not say which contract its rows have: name its Stage-1 --checkpoint" in capsys.readouterr().err


def test_a_message_that_does_not_hold_what_it_states(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    row = next(iter(rows(64, stream="s")))
    bag = recorded(tmp_path / "bag", [replace(row, drivers=np.zeros(3, np.uint8))])
    assert train(bag, "--out", tmp_path / "out") == 1
    assert "message 0 of /rlt/transition: drivers has 3 values; expected" in capsys.readouterr().err


def test_a_bag_without_rows(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.add_connection("/rlt/features", "rlt_ros/msg/Features", typestore=STORE)
    assert train(tmp_path / "bag", "--out", tmp_path / "out") == 1
    assert "no topic of rlt_ros/msg/Transition; there are /rlt/features" in capsys.readouterr().err


def older(folder: Path, sent: list[Transition], **changes: str) -> Path:
    """A bag of rows whose Transition.msg lacks or has otherwise what `changes` say: pattern to its replacement."""
    text = (message_folder() / "Transition.msg").read_text()
    for name, line in changes.items():
        text, count = re.subn(rf"(?m)^\S+ {name} .*\n", line, text)
        assert count == 1
    kind, store = "rlt_ros/msg/Transition", get_typestore(Stores.ROS2_KILTED)
    store.register(own_types(message_folder()) | get_types_from_msg(text, kind))
    assert store.hash_rihs01(kind) != STORE.hash_rihs01(kind)
    fields = [name for name, _ in store.fielddefs[kind][1]]
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/rlt/transition", kind, typestore=store)
        for number, row in enumerate(sent):
            values = {name: getattr(message(row, CONTRACT), name) for name in fields}
            writer.write(connection, 10**18 + number, store.serialize_cdr(store.types[kind](**values), kind))
    return folder


def test_a_bag_of_an_older_version_is_learned_from_as_one_of_today(tmp_path: Path) -> None:
    """Transition.msg as it first was, without `last_of_phase`, and with a narrower step: the same weights."""
    live = lived(tmp_path / "live")
    bag = older(tmp_path / "live" / "bag", as_sent(), last_of_phase="", step="uint16 step\n")
    with Bag(bag) as opened:
        assert differences(opened) == [
            "rlt_ros/msg/Transition.step: uint16 in the bag, uint32 here",
            "rlt_ros/msg/Transition.last_of_phase: bool here, not in the bag",
        ]
    assert [encode(row) for _, row in contracted_rows(bag)] == [encode(row) for row in rows(64, stream="s")]
    assert train(bag, "--out", tmp_path / "again") == 0
    assert_same_learning(live, reopened(tmp_path / "again"))


@pytest.mark.parametrize("count", [1, 5, 7, 8, 13, 16])
def test_an_older_bag_that_ends_within_a_phase_gives_that_phase_no_end(tmp_path: Path, count: int) -> None:
    whole = list(rows(64, stream="s"))
    bag = older(tmp_path / "bag", whole[:count], last_of_phase="")
    assert [encode(row) for _, row in contracted_rows(bag)] == [encode(row) for row in whole[:count]]


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("rewards", "", "rlt_ros/msg/Transition.rewards: float32[] here, not in the bag"),
        ("label", "string label\n", "rlt_ros/msg/Transition.label: string in the bag, uint8 here"),
    ],
)
def test_an_older_version_that_cannot_be_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture, name: str, line: str, said: str
) -> None:
    text = (message_folder() / "Transition.msg").read_text()
    changed = re.sub(rf"(?m)^\S+ {name} .*\n", line, text)
    kind, store = "rlt_ros/msg/Transition", get_typestore(Stores.ROS2_KILTED)
    store.register(own_types(message_folder()) | get_types_from_msg(changed, kind))
    values = {field: getattr(message(next(iter(rows(64, stream="s"))), CONTRACT), field)
              for field, _ in store.fielddefs[kind][1]}  # fmt: skip
    if line:
        values[name] = "success"
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/rlt/transition", kind, typestore=store)
        writer.write(connection, 10**18, store.serialize_cdr(store.types[kind](**values), kind))
    assert train(tmp_path / "bag", "--out", tmp_path / "out") == 1
    assert f"older messages that cannot be converted: {said}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_messages_of_this_version_do_not_differ(tmp_path: Path) -> None:
    with Bag(recorded(tmp_path / "bag", as_sent())) as bag:
        assert differences(bag) == []

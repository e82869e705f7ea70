"""The contract between Stage 1, Stage 2 and deployment (field reports A26, B55, D07)."""

import json
from dataclasses import fields, replace

import pytest

from rlt_ros.data.contract import FORMAT, Contract, ContractMismatch, read_contract, robot_terms
from rlt_ros.robot.config import load_robot
from rlt_ros.strict import ConfigError

CONTRACT = Contract(
    format=FORMAT,
    task="peg",
    cameras=("front", "wrist"),
    image_size=(64, 64),
    instruction="insert the peg",
    chunk=10,
    horizon=20,
    token_dim=64,
    norm_hash="n" * 64,
    vla="v" * 64,
    token="t" * 64,
    **robot_terms(load_robot()),
)

OTHER = {
    "format": FORMAT + 1,
    "task": "yaw_mark",
    "proprio_names": CONTRACT.proprio_names[1:],
    "reference_pose": (0.4, 0.0, 0.16, 1.0, 0.0, 0.0, 0.0),
    "action_names": ("dx",),
    "translation_scale": 0.01,
    "rotation_scale": 0.1,
    "anchor": "measured",
    "control_rate": 10.0,
    "cameras": ("wrist", "front"),
    "image_size": (64, 96),
    "instruction": "insert the plug",
    "chunk": 5,
    "horizon": 50,
    "token_dim": 2048,
    "norm_hash": "m" * 64,
    "vla": "w" * 64,
    "token": "u" * 64,
}


def test_equal_contracts_agree():
    CONTRACT.check(replace(CONTRACT))
    assert CONTRACT.fingerprint == replace(CONTRACT).fingerprint


def test_the_table_has_every_field():
    assert set(OTHER) == {field.name for field in fields(Contract)}


@pytest.mark.parametrize("field", OTHER)
def test_each_difference_is_refused_with_field_and_both_values(field):
    other = replace(CONTRACT, **{field: OTHER[field]})
    assert other.fingerprint != CONTRACT.fingerprint
    with pytest.raises(ContractMismatch) as caught:
        CONTRACT.check(other)
    for part in (field, repr(getattr(CONTRACT, field)), repr(OTHER[field])):
        assert part in str(caught.value)


def test_a_chunk_longer_than_the_horizon_is_refused():
    with pytest.raises(ValueError, match="horizon is 20, chunk is 30"):
        replace(CONTRACT, chunk=30)


def test_json_round_trip():
    content = json.loads(json.dumps(CONTRACT.to_dict()))
    assert Contract.from_dict(content, "config.json") == CONTRACT


def test_another_format_version_is_refused_before_anything_else():
    with pytest.raises(ContractMismatch, match=r"config\.json: format: 2 here, 99 there"):
        Contract.from_dict({"format": 99, "renamed_field": 1}, "config.json")


def test_unknown_and_missing_keys_are_refused():
    content = CONTRACT.to_dict()
    with pytest.raises(ConfigError, match="horizn"):
        Contract.from_dict(content | {"horizn": 1}, "config.json")
    del content["horizon"]
    with pytest.raises(ConfigError, match="horizon"):
        Contract.from_dict(content, "config.json")


def test_the_robot_must_mean_the_same_numbers():
    robot = load_robot()
    CONTRACT.check_robot(robot)
    doubled = replace(robot, action_scale=replace(robot.action_scale, translation=0.01))
    with pytest.raises(ContractMismatch, match=r"translation_scale: 0\.005 here, 0\.01 there"):
        CONTRACT.check_robot(doubled)
    with pytest.raises(ContractMismatch, match="cameras"):
        CONTRACT.check_robot(replace(robot, cameras={"wrist": "wrist/color/image_raw"}))


def test_practising_another_task_than_was_demonstrated_is_refused_with_both():
    CONTRACT.check_task("peg")
    with pytest.raises(ContractMismatch, match="task of the checkpoint and of the run: 'peg' here, 'yaw_mark' there"):
        CONTRACT.check_task("yaw_mark")


def test_read_contract_without_weights(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"contract": CONTRACT.to_dict()}))
    assert read_contract(tmp_path) == CONTRACT
    with pytest.raises(ConfigError, match="absent"):
        read_contract(tmp_path / "absent")

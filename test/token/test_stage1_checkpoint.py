"""Stage-1 checkpoints (field reports A26, B15, B16, B32, D07; method.md C.6 no. 47, 48)."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from stage1_example import observation, small_stage1

from rlt_ros.data.contract import ContractMismatch, read_contract
from rlt_ros.strict import ConfigError
from rlt_ros.token.checkpoint import CheckpointError, load_stage1, read_metrics, save_stage1
from rlt_ros.token.extractor import FeatureExtractor


@pytest.fixture
def folder(tmp_path):
    save_stage1(tmp_path / "stage1", small_stage1(), {"z_alone": 0.1})
    return tmp_path / "stage1"


def edit_weights(path, edit):
    weights = load_file(path)
    edit(weights)
    save_file(weights, path)


def edit_config(folder, edit):
    content = json.loads((folder / "config.json").read_text())
    edit(content)
    (folder / "config.json").write_text(json.dumps(content))


def test_a_loaded_checkpoint_gives_the_same_features(folder):
    want = FeatureExtractor(small_stage1(), seed=5).features([observation()])[0]
    got = FeatureExtractor(load_stage1(folder), seed=5).features([observation()])[0]
    assert (got.z == want.z).all() and (got.reference == want.reference).all() and (got.proprio == want.proprio).all()


def test_what_is_loaded_is_frozen_and_in_eval_mode(folder):
    stage1 = load_stage1(str(folder))
    for module in (stage1.vla, stage1.token):
        assert not module.training
        assert not any(parameter.requires_grad for parameter in module.parameters())


def test_contract_and_metrics_can_be_read_alone(folder):
    assert read_contract(folder) == small_stage1().contract
    assert read_metrics(folder) == {"z_alone": 0.1}


def test_a_plain_vla_is_refused(folder):
    (folder / "token.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no RL-token weights in checkpoint"):
        load_stage1(folder)


@pytest.mark.parametrize("name", ["vla.safetensors", "token.safetensors"])
def test_missing_and_unexpected_keys_are_listed(folder, name):
    key = sorted(load_file(folder / name))[0]
    edit_weights(folder / name, lambda w: w.update({"stray": w.pop(key)}))
    with pytest.raises(CheckpointError) as caught:
        load_stage1(folder)
    for part in (name, f"missing keys ['{key}']", "unexpected keys ['stray']"):
        assert part in str(caught.value)


def test_another_shape_is_refused_with_both(folder):
    edit_weights(folder / "token.safetensors", lambda w: w.update(e_rl=torch.zeros(5)))
    with pytest.raises(CheckpointError, match=r"e_rl is \(5,\); expected \(32,\)"):
        load_stage1(folder)


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("vla.safetensors", "norm.weight", "identity of the tiny VLA"),
        ("token.safetensors", "e_rl", "token.safetensors"),
        ("token.safetensors", "scale", "token.safetensors"),
    ],
)
def test_exchanged_weights_are_noticed(folder, name, key, message):
    edit_weights(folder / name, lambda w: w.update({key: w[key] + 1e-3}))
    with pytest.raises(ContractMismatch, match=message):
        load_stage1(folder)


def test_exchanged_statistics_are_noticed(folder):
    other = replace(small_stage1().norm, std=small_stage1().norm.std * 2)
    other.save(folder / "norm_stats.json")
    with pytest.raises(ContractMismatch, match="norm_hash"):
        load_stage1(folder)


def test_another_format_version_is_refused(folder):
    edit_config(folder, lambda c: c["contract"].update(format=0))
    with pytest.raises(ContractMismatch, match="format: 2 here, 0 there"):
        load_stage1(folder)


@pytest.mark.parametrize(("field", "value"), [("horizon", 40), ("token_dim", 9), ("image_size", [64, 64])])
def test_a_contract_that_contradicts_the_models_is_refused(folder, field, value):
    edit_config(folder, lambda c: c["contract"].update({field: value}))
    with pytest.raises(ContractMismatch, match=field):
        load_stage1(folder)


def test_unknown_settings_are_refused(folder):
    edit_config(folder, lambda c: c["token"].update(dims=64))
    with pytest.raises(ConfigError, match="dims"):
        load_stage1(folder)


@pytest.mark.parametrize("name", ["config.json", "norm_stats.json", "vla.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match=name):
        load_stage1(folder)


def test_a_cut_file_is_named(folder):
    path = folder / "vla.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="vla.safetensors"):
        load_stage1(folder)


def test_an_existing_checkpoint_is_never_overwritten(folder):
    with pytest.raises(FileExistsError):
        save_stage1(folder, small_stage1(1), {})
    load_stage1(folder)


def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rlt_ros.token.checkpoint.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        save_stage1(tmp_path / "stage1", small_stage1(), {})
    assert list(tmp_path.iterdir()) == []

"""A Stage-1 checkpoint with a policy of LeRobot's as its VLA: saved, loaded, observation to features.

Needs no simulator, as the machine with the GPU may have none.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("lerobot.policies", reason="lerobot is not installed: set RLT_LEROBOT_PYTHON")
from lerobot_policies import KINDS, make_policy, small_sizes

from rlt_ros.data.contract import FORMAT, Contract, ContractMismatch, robot_terms
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import load_robot
from rlt_ros.token.checkpoint import Stage1, load_stage1, save_stage1, token_identity
from rlt_ros.token.config import TokenConfig
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.token.model import RLToken
from rlt_ros.types import PROPRIO_NAMES, Observation
from rlt_ros.vla.backends import load_vla

INSTRUCTION = "insert the peg"
CAMERAS = {"front": "observation.images.front", "wrist": "observation.images.wrist"}


@pytest.fixture(params=KINDS)
def stage1(request, tmp_path):
    torch.set_num_threads(1)
    with small_sizes():
        make_policy(request.param, tmp_path / "policy")
        vla = load_vla({"backend": "lerobot", "path": "policy", "cameras": CAMERAS}, tmp_path, "test")
        yield assembled(vla)


def assembled(vla) -> Stage1:
    token = RLToken(TokenConfig(dim=8, width=32), vla.width, vla.token_kinds(INSTRUCTION)).eval()
    norm = NormStats.of(np.random.default_rng(0).normal(size=(100, 19)), PROPRIO_NAMES)
    contract = Contract(
        format=FORMAT,
        task="peg",
        cameras=vla.cameras,
        image_size=vla.image_size,
        instruction=INSTRUCTION,
        chunk=10,
        horizon=vla.horizon,
        token_dim=8,
        norm_hash=norm.hash,
        vla=vla.identity,
        token=token_identity(token),
        **robot_terms(load_robot()),
    )
    return Stage1(contract, norm, vla, token)


def observation(number: int) -> Observation:
    rng = np.random.default_rng(number)
    images = {name: rng.integers(0, 256, (28, 28, 3), dtype=np.uint8) for name in CAMERAS}
    return Observation(number, number, 1, number, images, rng.normal(size=19).astype(np.float32))


def test_a_checkpoint_names_the_policy_and_gives_the_same_features(stage1, tmp_path):
    save_stage1(tmp_path / "stage1", stage1, {})
    assert not (tmp_path / "stage1" / "vla").exists()
    loaded = load_stage1(tmp_path / "stage1")
    assert not any(parameter.requires_grad for parameter in loaded.vla.parameters())
    seen = [observation(1), observation(2)]
    got, want = (FeatureExtractor(each, seed=5).features(seen) for each in (loaded, stage1))
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one.z, other.z)
        np.testing.assert_array_equal(one.reference, other.reference)
        assert one.reference.shape == (12, 7) and np.isfinite(one.z).all() and np.abs(one.reference).max() <= 0.98


def test_a_policy_that_changed_since_is_refused_with_both_values(stage1, tmp_path):
    save_stage1(tmp_path / "stage1", stage1, {})
    before = stage1.contract.vla
    make_policy(stage1.vla.policy.config.type, tmp_path / "other", seed=1)
    (tmp_path / "other" / "model.safetensors").replace(tmp_path / "policy" / "model.safetensors")
    with pytest.raises(ValueError, match=before) as caught:
        load_stage1(tmp_path / "stage1")
    assert "here" in str(caught.value) and "there" in str(caught.value)


def test_a_policy_that_is_gone_is_named(stage1, tmp_path):
    save_stage1(tmp_path / "stage1", stage1, {})
    (tmp_path / "policy").rename(tmp_path / "moved")
    with pytest.raises(ValueError, match=str(Path(tmp_path / "policy"))):
        load_stage1(tmp_path / "stage1")


def test_a_policy_that_was_trained_with_the_token_lies_in_the_checkpoint(stage1, tmp_path):
    with torch.no_grad():
        next(p for p in stage1.vla.parameters() if p.requires_grad).mul_(1.5)
    save_stage1(tmp_path / "stage1", assembled(stage1.vla), {})
    (tmp_path / "policy").rename(tmp_path / "moved")
    assert load_stage1(tmp_path / "stage1").vla.identity == stage1.vla.identity != stage1.contract.vla


def test_another_vla_of_the_same_kind_does_not_pass_for_it(stage1, tmp_path):
    save_stage1(tmp_path / "stage1", stage1, {})
    config = tmp_path / "stage1" / "config.json"
    text = config.read_text()
    config.write_text(
        text.replace(f'"identity": "{stage1.contract.vla}"', '"identity": ""').replace('"horizon": 0', '"horizon": 11')
    )
    with pytest.raises(ContractMismatch, match="identity of the lerobot VLA"):
        load_stage1(tmp_path / "stage1")

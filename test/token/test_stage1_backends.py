"""Stage-1 checkpoints whose VLA is on a server. For LeRobot's policies: test/vla/test_lerobot_stage1.py."""

import json

import numpy as np
import pytest
from stage1_example import observation, small_stage1
from vla_server import Server

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.strict import ConfigError
from rlt_ros.token.checkpoint import Stage1, load_stage1, save_stage1
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.vla.contract import VLAUnavailable
from rlt_ros.vla.remote.client import RemoteVLA
from rlt_ros.vla.remote.config import RemoteConfig


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A checkpoint with a tiny VLA inside."""
    folder = tmp_path_factory.mktemp("stage1") / "local"
    save_stage1(folder, small_stage1(), {})
    return folder


@pytest.fixture(scope="module")
def server(local):
    server = Server("--checkpoint", local, "--port", 0)
    yield server
    assert server.end() == 0


def features(stage1):
    return FeatureExtractor(stage1, seed=5).features([observation(1), observation(2)])


def check_equal(got, want):
    for one, other in zip(got, want, strict=True):
        for field in ("z", "proprio", "reference"):
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_a_server_can_be_asked_instead_of_the_vla_inside(local, server):
    check_equal(features(load_stage1(local, vla_url=server.url)), features(load_stage1(local)))


def test_a_checkpoint_may_name_a_server_and_what_it_must_serve(local, server, tmp_path):
    small = small_stage1()
    remote = Stage1(small.contract, small.norm, RemoteVLA(RemoteConfig(server.url, images="png")), small.token)
    save_stage1(tmp_path / "remote", remote, {})
    settings = json.loads((tmp_path / "remote" / "config.json").read_text())["vla"]
    assert settings["backend"] == "remote" and settings["url"] == server.url and settings["images"] == "png"
    assert settings["identity"] == small.vla.identity
    assert not (tmp_path / "remote" / "vla.safetensors").exists()
    check_equal(features(load_stage1(tmp_path / "remote")), features(load_stage1(local)))


def test_a_server_of_another_vla_is_refused_with_both_values(server, tmp_path):
    other = small_stage1(1)
    save_stage1(tmp_path / "other", other, {})
    with pytest.raises(ContractMismatch) as caught:
        load_stage1(tmp_path / "other", vla_url=server.url)
    for part in ("identity of the remote VLA", other.vla.identity, small_stage1().vla.identity):
        assert part in str(caught.value)


def test_a_server_that_is_not_there_is_named(tmp_path, local):
    edited = json.loads((local / "config.json").read_text())
    edited["vla"] = {"backend": "remote", "url": "ws://127.0.0.1:9", "patience": 0.2}
    for source in local.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(edited))
    with pytest.raises(VLAUnavailable, match="ws://127.0.0.1:9"):
        load_stage1(tmp_path)


@pytest.mark.parametrize("vla", [{"backend": "huge"}, {}, {"backend": "remote", "url": "ws://gpu:1", "speed": 1}])
def test_a_vla_that_cannot_be_made_is_told_with_the_file(tmp_path, local, vla):
    for source in local.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    edited = json.loads((local / "config.json").read_text()) | {"vla": vla}
    (tmp_path / "config.json").write_text(json.dumps(edited))
    with pytest.raises(ConfigError, match=r"config\.json: vla"):
        load_stage1(tmp_path)

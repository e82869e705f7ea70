"""Stage 1 from the simulator to features, small (issue 2, "Stage 1 for the demo"; field reports A02, B05)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from stage1_example import CONFIG, observation

from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.tasks import TASKS
from rlt_ros.token.checkpoint import load_stage1, read_metrics
from rlt_ros.token.config import PRESETS, FitConfig, Stage1Config, stage1_config
from rlt_ros.token.demonstrate import demonstrations
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.token.model import RLToken
from rlt_ros.token.stage1 import make_contract, run_stage1, train
from rlt_ros.token.train_vla import shifted, vary
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.tiny import TinyVLA

SMALL = replace(
    CONFIG,
    demonstrations=3,
    fit_vla=FitConfig(steps=12, batch=8),
    fit_token=FitConfig(steps=12, batch=8),
)


@pytest.fixture(scope="module")
def robot():
    torch.set_num_threads(1)
    return load_robot()


@pytest.fixture(scope="module")
def episodes(robot):
    return list(demonstrations(SMALL, robot, seed=0))


def test_demonstrations_are_what_the_robot_saw_and_executed(episodes, robot):
    assert [episode.id for episode in episodes] == [0, 1, 2]
    for episode in episodes:
        assert set(episode.images) == set(robot.cameras)
        assert episode.images["front"].shape[1:] == (32, 32, 3)
        assert episode.actions.std(axis=0)[:6].min() > 0
        np.testing.assert_array_equal(episode.actions[:, 6], -1.0)


def test_the_noted_offset_is_that_of_the_frame_and_not_of_the_next(episodes, robot):
    start = int(np.random.default_rng(0).integers(2**31, size=SMALL.demonstrations)[0])
    world = PegInsertion(SimConfig(), robot)
    world.reset(start)
    truth = world.truth()
    np.testing.assert_allclose(episodes[0].offset[0], (truth.hole.position - truth.tip)[:2], atol=1e-6)


def test_demonstrations_follow_the_seed(episodes, robot):
    again = next(demonstrations(SMALL, robot, seed=0))
    np.testing.assert_array_equal(again.actions, episodes[0].actions)
    np.testing.assert_array_equal(again.images["wrist"], episodes[0].images["wrist"])
    other = next(demonstrations(SMALL, robot, seed=1))
    assert not np.array_equal(other.proprio[0], episodes[0].proprio[0])


def test_the_same_seed_gives_the_same_contract(episodes, robot):
    a, metrics = train(SMALL, robot, episodes, seed=0)
    torch.rand(7)
    b, _ = train(SMALL, robot, episodes, seed=0)
    assert a.contract == b.contract
    assert train(SMALL, robot, episodes, seed=1)[0].contract.vla != a.contract.vla
    assert {"vla_loss", "rlt_loss", "z_alone", "position_mean", "probe_z_mm", "probe_proprio_mm"} <= set(metrics)


def test_from_nothing_to_features(tmp_path, robot):
    run_stage1(SMALL, robot, 0, tmp_path / "stage1", recipe="r")
    stage1 = load_stage1(tmp_path / "stage1")
    stage1.contract.check_robot(robot)
    metrics = read_metrics(tmp_path / "stage1")
    assert metrics["seed"] == 0 and metrics["recipe"] == "r" and 0 <= metrics["demonstrator_success"] <= 1
    features = FeatureExtractor(stage1, seed=0).features([observation(1), observation(2)])
    assert all(np.isfinite(f.z).all() and f.reference.shape == (20, 7) for f in features)


def test_brightness_is_varied_within_its_bounds():
    pixels = torch.full((50, 2, 3, 4, 4), 0.5)
    varied = vary(pixels, 0.1, torch.Generator().manual_seed(0))
    assert (varied.flatten(2).std(dim=-1) < 1e-6).all()
    factor = (varied[:, :, 0, 0, 0] + 1) / 1.5
    assert 0.9 <= factor.min() < 0.93 and 1.07 < factor.max() <= 1.1


def test_a_shift_moves_whole_pictures_by_whole_pixels():
    pixels = torch.zeros(40, 2, 3, 9, 9)
    pixels[:, :, :, 4, 4] = 1.0
    moved = shifted(pixels, 2, torch.Generator().manual_seed(0))
    assert moved.shape == pixels.shape
    places = torch.nonzero(moved[:, :, 0])[:, 2:]
    assert len(places) == 80 and set(places.flatten().tolist()) == {2, 3, 4, 5, 6}
    assert torch.equal(moved[:, :, 0], moved[:, :, 2])
    assert torch.equal(shifted(pixels, 0, torch.Generator().manual_seed(0)), pixels)


def test_the_checkpoint_names_the_task_that_was_demonstrated(robot):
    config = stage1_config("smoke", "yaw_mark")
    vla = TinyVLA(config.vla)
    norm = NormStats.of(np.random.default_rng(0).normal(size=(50, 19)), PROPRIO_NAMES)
    token = RLToken(config.token, vla.width, vla.kinds)
    assert make_contract(config, robot, norm, vla, token).task == "yaw_mark"


def test_demonstrations_are_of_the_configured_task(episodes, robot):
    marked = next(demonstrations(replace(SMALL, task="yaw_mark"), robot, seed=0))
    np.testing.assert_array_equal(marked.proprio[0], episodes[0].proprio[0])
    assert not np.array_equal(marked.images["front"][0], episodes[0].images["front"][0])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_sound(name, task):
    config = stage1_config(name, task)
    assert config.task == task
    assert isinstance(config, Stage1Config)
    assert config.vla.horizon >= config.chunk == 10
    assert config.vla.tokens <= (80 if name == "large" else 40)

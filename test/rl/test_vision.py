"""Pictures in the place of z_rl: an encoder that learns with actor and critics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from synthetic import CONTRACT, small_config

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import Dims
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.networks import Actor, CriticEnsemble
from rlt_ros.rl.vision import FEATURES, PixelEncoder
from rlt_ros.rl.weights import load_policy
from rlt_ros.types import Features

PIXELS = (6, 12, 12)
DIMS = Dims(z=6 * 12 * 12, proprio=3, action=3)
CONFIG = small_config(pixels=PIXELS)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_pictures_become_features_beside_untouched_proprioception():
    state = torch.rand(5, DIMS.z + 3, generator=generator()) * 2 - 1
    seen = PixelEncoder(PIXELS, generator())(state)
    assert seen.shape == (5, FEATURES + 3)
    assert torch.equal(seen[:, FEATURES:], state[:, DIMS.z :])
    # Where a pixel is matters: it is no bag of colours.
    moved = state.clone()
    moved[:, : DIMS.z] = state[:, : DIMS.z].view(5, *PIXELS).flip(3).flatten(1)
    assert not torch.allclose(PixelEncoder(PIXELS, generator())(moved), seen, atol=1e-2)


def test_the_same_seed_makes_the_same_encoder():
    one, other = PixelEncoder(PIXELS, generator()), PixelEncoder(PIXELS, generator())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    third = PixelEncoder(PIXELS, torch.Generator().manual_seed(1))
    assert not all(torch.equal(a, b) for a, b in zip(one.parameters(), third.parameters(), strict=True))


@pytest.mark.parametrize("make", [Actor, CriticEnsemble])
def test_pictures_of_another_size_are_refused(make):
    with pytest.raises(ValueError, match=r"pixels \(6, 12, 12\) make 864 values; features have 4"):
        make(CONFIG, Dims(z=4, proprio=3, action=3), generator())


def test_both_encoders_learn():
    agent = Agent(replace(CONFIG, actor_every=1), DIMS)
    before = {name: tensor.clone() for name, tensor in agent.tensors().items() if ".see." in name}
    assert {name.split(".")[0] for name in before} == {"actor", "critic", "ema", "target"}
    learner = Learner(replace(CONFIG, actor_every=1), DIMS, CONTRACT, 5.0)
    learner.add(_rows())
    assert learner.train(20) == 20
    after = learner.agent.tensors()
    assert all(not torch.equal(after[name], tensor) for name, tensor in before.items() if name.endswith("weight"))


def test_a_policy_comes_out_of_its_weights():
    learner = Learner(CONFIG, DIMS, CONTRACT, 5.0)
    policy = load_policy(learner.weights(), CONTRACT)
    seen = _features(1, np.random.default_rng(0))
    state = torch.from_numpy(np.concatenate([seen.z, seen.proprio]))[None]
    reference = torch.from_numpy(seen.reference[:4, :2])[None]
    with torch.no_grad():
        expected = learner.agent.actor(state, reference)[0].numpy()
    np.testing.assert_array_equal(policy.act(seen)[:, :2], expected)


def _features(number: int, rng: np.random.Generator) -> Features:
    z = rng.uniform(-1, 1, DIMS.z).astype(np.float32)
    proprio = rng.normal(size=3).astype(np.float32)
    return Features(number, 50 * number, 0, number, z, proprio, rng.uniform(-0.9, 0.9, (6, 3)).astype(np.float32))


def _rows():
    from synthetic import rows

    rng = np.random.default_rng(0)
    return [replace(row, features=tuple(_features(f.id, rng) for f in row.features)) for row in rows(40)]

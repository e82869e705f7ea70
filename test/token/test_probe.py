"""The linear probe of the hole's offset."""

import math

import numpy as np
import pytest

from rlt_ros.token.probe import probe


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    offsets = rng.uniform(-0.004, 0.004, (800, 2))
    return rng, offsets, np.repeat(np.arange(40), 20)


def test_a_vector_that_tells_the_offset_scores_its_own_noise(world):
    rng, offsets, groups = world
    inputs = np.concatenate([offsets + rng.normal(0, 0.0003, offsets.shape), rng.normal(size=(800, 5))], axis=1)
    assert probe(inputs, offsets, groups) == pytest.approx(0.3, rel=0.15)


def test_a_vector_that_tells_nothing_scores_the_spread(world):
    rng, offsets, groups = world
    assert probe(rng.normal(size=(800, 5)), offsets, groups) == pytest.approx(8 / math.sqrt(12), rel=0.1)


def test_an_episodes_own_mark_is_no_use(world):
    rng, offsets, groups = world
    constant = np.repeat(rng.uniform(-0.004, 0.004, (40, 2)), 20, axis=0)
    marks = np.eye(40)[groups]
    assert probe(marks, constant, groups) > 2.0


def test_far_frames_do_not_count(world):
    _, offsets, groups = world
    far = np.concatenate([offsets, offsets + 1.0])
    inputs = np.concatenate([offsets, offsets * -7.0 + 3.0])
    assert probe(inputs, far, np.tile(groups, 2)) < 0.05


def test_too_few_frames_give_no_figure(world):
    _, offsets, groups = world
    assert math.isnan(probe(offsets, offsets + 1.0, groups))

"""Linear probes of the hole's offset and of the outcome."""

import math

import numpy as np
import pytest

from rlt_ros.token.probe import EARLY, area_under_curve, before_the_outcome, outcome_probe, probe


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


def test_a_vector_that_tells_the_outcome_scores_one(world):
    rng, _, groups = world
    success = (np.arange(40) % 3 == 0)[groups]
    inputs = np.concatenate([success[:, None] + rng.normal(0, 0.2, (800, 1)), rng.normal(size=(800, 3))], axis=1)
    everywhere = np.ones(800, bool)
    assert outcome_probe(inputs, success, groups, everywhere) == pytest.approx(1.0)
    assert 0.2 < outcome_probe(rng.normal(size=(800, 3)), success, groups, everywhere) < 0.8


def test_an_episodes_own_mark_does_not_tell_its_outcome(world):
    _, _, groups = world
    success = (np.arange(40) % 3 == 0)[groups]
    assert outcome_probe(np.eye(40)[groups], success, groups, np.ones(800, bool)) < 0.75


def test_only_counted_frames_tell_the_outcome(world):
    rng, _, groups = world
    success, counted = (np.arange(40) % 2 == 0)[groups], np.tile(np.arange(20) >= 15, 40)
    inputs = np.where(counted, success, rng.random(800))[:, None]
    assert outcome_probe(inputs, success, groups, counted) == pytest.approx(1.0)


def test_episodes_that_all_end_alike_give_no_figure(world):
    rng, _, groups = world
    assert math.isnan(outcome_probe(rng.normal(size=(800, 3)), np.ones(800, bool), groups, np.ones(800, bool)))


def test_the_area_under_the_curve_counts_ties_half():
    positive = np.array([True, True, False, False])
    assert area_under_curve(np.array([3.0, 2.0, 1.0, 0.0]), positive) == 1.0
    assert area_under_curve(np.array([0.0, 1.0, 2.0, 3.0]), positive) == 0.0
    assert area_under_curve(np.array([1.0, 1.0, 1.0, 1.0]), positive) == 0.5
    assert area_under_curve(np.array([2.0, 0.0, 1.0, 0.0]), positive) == 0.625


def test_the_outcome_is_foretold_by_the_first_frames_near_the_hole():
    groups = np.repeat([0, 1], [12, 40])
    offsets = np.where(np.arange(52)[:, None] % 2, 0.001, 0.1) * np.ones((1, 2))
    near = [*range(1, 12, 2), *range(13, 13 + 2 * EARLY, 2)]
    assert np.flatnonzero(before_the_outcome(offsets, groups)).tolist() == near


def test_without_offsets_it_is_foretold_at_the_same_place_of_every_episode():
    groups = np.repeat([0, 1], [12, 40])
    frames = [*range(6, 12), *range(12 + 6, 12 + 6 + EARLY)]
    assert np.flatnonzero(before_the_outcome(None, groups)).tolist() == frames

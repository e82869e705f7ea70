"""Feature extraction (field reports A26, B13, B49, B51; method.md C.6 no. 48)."""

import numpy as np
import pytest
from stage1_example import observation, small_stage1

from rlt_ros.robot.action_space import REFERENCE_LIMIT
from rlt_ros.token.extractor import FeatureExtractor, pass_seed


@pytest.fixture(scope="module")
def stage1():
    return small_stage1()


@pytest.fixture
def extractor(stage1):
    return FeatureExtractor(stage1, seed=5)


def test_shapes_types_and_names(stage1, extractor):
    seen = observation(7)
    got = extractor.features([seen])[0]
    assert (got.id, got.stamp, got.episode, got.step) == (seen.id, seen.stamp, seen.episode, seen.step)
    assert got.z.shape == (8,) and got.proprio.shape == (19,) and got.reference.shape == (20, 7)
    assert {got.z.dtype, got.proprio.dtype, got.reference.dtype} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(got.proprio, stage1.norm.normalise(seen.proprio))


def test_the_same_observation_gives_the_same_features(extractor, stage1):
    again = FeatureExtractor(stage1, seed=5)
    a, b = extractor.features([observation(3)])[0], again.features([observation(3)])[0]
    np.testing.assert_array_equal(a.reference, b.reference)
    np.testing.assert_array_equal(a.z, b.z)


def test_a_batch_gives_what_single_passes_give(extractor):
    observations = [observation(n) for n in (4, 2, 9)]
    for together, seen in zip(extractor.features(observations), observations):
        alone = extractor.features([seen])[0]
        assert together.id == seen.id
        np.testing.assert_allclose(together.z, alone.z, atol=1e-4)
        np.testing.assert_allclose(together.reference, alone.reference, atol=1e-4)


def test_seed_and_id_both_enter_the_noise(extractor, stage1):
    base = extractor.features([observation(3)])[0].reference
    other_id = observation(3, id=4)
    assert not np.array_equal(extractor.features([other_id])[0].reference, base)
    assert not np.array_equal(FeatureExtractor(stage1, seed=6).features([observation(3)])[0].reference, base)
    assert len({pass_seed(seed, number) for seed in range(30) for number in range(30)}) == 900


def test_references_are_within_the_actors_reach():
    stage1 = small_stage1()
    stage1.vla.head.std.mul_(100.0)
    reference = FeatureExtractor(stage1, seed=5).features([observation(3)])[0].reference
    assert np.abs(reference).max() == np.float32(REFERENCE_LIMIT)


def test_a_vla_that_returns_nan_is_refused():
    stage1 = small_stage1()
    stage1.vla.head.mean.fill_(np.nan)
    with pytest.raises(ValueError, match="reference chunk is not finite"):
        FeatureExtractor(stage1, seed=5).features([observation(3)])


def test_no_observation_no_features(extractor):
    assert extractor.features([]) == []


def test_the_observation_may_change_afterwards(extractor):
    seen = observation(3)
    got = extractor.features([seen])[0]
    kept = got.z.copy(), got.proprio.copy(), got.reference.copy()
    seen.proprio[:] = 0
    extractor.features([observation(8)])
    for now, before in zip((got.z, got.proprio, got.reference), kept):
        np.testing.assert_array_equal(now, before)


def test_features_are_made_in_eval_mode(stage1):
    stage1.vla.train()
    stage1.token.train()
    FeatureExtractor(stage1, seed=5)
    assert not stage1.vla.training and not stage1.token.training


PICTURE = np.zeros((32, 32, 3), np.uint8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": {"front": PICTURE}}, r"observation 3: images: cameras \['front'\].*\['front', 'wrist'\]"),
        ({"images": {"front": PICTURE, "wrist": PICTURE, "side": PICTURE}}, "side"),
        ({"images": {"front": PICTURE, "wrist": PICTURE[:16]}}, r"images\[wrist\]: uint8 \(16, 32, 3\).*\(32, 32, 3\)"),
        ({"images": {"front": PICTURE, "wrist": PICTURE.astype(np.float32)}}, r"images\[wrist\]: float32"),
        ({"proprio": np.zeros(18, np.float32)}, r"proprio: shape \(18,\); expected \(19,\)"),
        ({"proprio": np.full(19, np.nan, np.float32)}, "proprio: gripper_width is not finite"),
    ],
)
def test_a_wrong_observation_is_refused_with_both_values(extractor, changes, message):
    with pytest.raises(ValueError, match=message):
        extractor.features([observation(1), observation(3, **changes)])

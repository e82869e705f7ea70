"""Normalisation statistics (field reports A26, B23; method.md C.7 no. 51)."""

import numpy as np
import pytest

from rlt_ros.data.norm import LIMIT, NormStats

NAMES = ("width", "x", "force")


@pytest.fixture
def frames():
    rng = np.random.default_rng(0)
    return np.stack([np.full(500, 0.016), rng.normal(0.02, 0.003, 500), rng.normal(-4.0, 8.0, 500)], axis=1)


def test_normalised_frames_have_mean_zero_and_deviation_one(frames):
    values = NormStats.of(frames, NAMES).normalise(frames)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values[:, 1:].mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(values[:, 1:].std(axis=0), 1.0, atol=1e-5)


def test_a_constant_dimension_is_shifted_and_not_blown_up(frames):
    stats = NormStats.of(frames, NAMES)
    assert np.abs(stats.normalise(frames)[:, 0]).max() < 1e-6
    moved = stats.normalise(np.array([0.080, 0.02, -4.0]))
    assert moved[0] == pytest.approx(0.064)


def test_quantiles_are_computed(frames):
    stats = NormStats.of(frames, NAMES)
    assert stats.q01[2] == pytest.approx(np.quantile(frames[:, 2], 0.01))
    assert stats.q99[2] == pytest.approx(np.quantile(frames[:, 2], 0.99))


def test_denormalise_is_the_inverse(frames):
    stats = NormStats.of(frames, NAMES)
    np.testing.assert_allclose(stats.denormalise(stats.normalise(frames)), frames, rtol=1e-5, atol=1e-6)


def test_a_first_hard_contact_stays_bounded(frames):
    assert np.abs(NormStats.of(frames, NAMES).normalise(np.array([0.016, 0.02, 1e6]))).max() == LIMIT


def test_values_outside_the_range_are_named(frames):
    stats = NormStats.of(frames, NAMES)
    assert stats.outside(frames.mean(axis=0)) == ()
    assert stats.outside(np.array([0.016, 0.02, 200.0])) == ("force",)
    assert stats.outside(np.array([0.080, 0.20, -4.0])) == ("width", "x")


def test_save_and_load_keep_every_bit(frames, tmp_path):
    stats = NormStats.of(frames, NAMES)
    stats.save(tmp_path / "norm_stats.json")
    loaded = NormStats.load(tmp_path / "norm_stats.json")
    assert loaded.hash == stats.hash
    np.testing.assert_array_equal(loaded.std, stats.std)


@pytest.mark.parametrize("change", ["mean", "std", "q01", "names"])
def test_the_hash_sees_every_change(frames, change):
    stats = NormStats.of(frames, NAMES)
    content = stats.to_dict()
    content[change] = ["a", "b", "c"] if change == "names" else [value * 2 + 1 for value in content[change]]
    assert NormStats.from_dict(content).hash != stats.hash


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.zeros((0, 3)), r"\(0, 3\)"),
        (np.zeros((5, 2)), r"\(5, 2\); expected .*3"),
        (np.array([[0.0, np.nan, 0.0]]), "x is not finite"),
    ],
)
def test_unusable_frames_are_refused(frames, message):
    with pytest.raises(ValueError, match=message):
        NormStats.of(frames, NAMES)


@pytest.mark.parametrize("text", ["{}", "[1]", "not json", '{"names": ["a"], "mean": [1], "std": [1], "q01": [1]}'])
def test_a_malformed_file_is_named(tmp_path, text):
    path = tmp_path / "norm_stats.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"norm_stats\.json"):
        NormStats.load(path)

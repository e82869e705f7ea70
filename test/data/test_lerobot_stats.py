"""Statistics as LeRobot has them."""

from pathlib import Path

import numpy as np

from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.stats import PictureStats, aggregate, vector_stats
from rlt_ros.data.lerobot.writer import DatasetWriter

SAMPLES = Path(__file__).with_name("samples")


def test_lerobots_own_statistics_are_alike(tmp_path):
    """Written by both for the same frames. LeRobot's are sums of float32, its quantiles come from 5000 bins."""
    theirs = DatasetReader(SAMPLES / "v30_image")
    with DatasetWriter.create(tmp_path / "set", int(theirs.fps), "arm", theirs.features) as writer:
        for episode in theirs:
            copy_episode(writer, episode)
    ours = DatasetReader(tmp_path / "set").stats
    assert {k: set(v) for k, v in ours.items()} == {k: set(v) for k, v in theirs.stats.items()}
    for key, part in theirs.stats.items():
        span = part["max"] - part["min"]
        for name, value in part.items():
            assert ours[key][name].shape == value.shape, (key, name)
            if not name.startswith("q"):
                np.testing.assert_allclose(ours[key][name], value, rtol=1e-3, atol=1e-5, err_msg=f"{key} {name}")
            # In a handful of frames two ways of taking a quantile differ by up to one frame's step.
            assert (np.abs(ours[key][name] - value) <= np.maximum(0.35 * span, 1e-4)).all() or name == "count"


def copy_episode(writer, episode):
    pictures = zip(*[episode.pictures(key) for key in ("observation.images.front",)], strict=True)
    for step, (picture,) in enumerate(pictures):
        vectors = {k: episode.arrays[k][step] for k in ("observation.state", "action")}
        success = np.array([episode.arrays["next.success"][step]])
        frame = vectors | {"next.success": success, "observation.images.front": picture}
        writer.add_frame(frame, episode.tasks[step])
    writer.save_episode()


def test_pictures_are_counted_level_by_level():
    pictures = np.random.default_rng(0).integers(0, 256, (4, 20, 30, 3), dtype=np.uint8)
    counter = PictureStats()
    for picture in pictures:
        counter.add(picture)
    got, values = counter.result(), (pictures / 255.0).transpose(3, 0, 1, 2).reshape(3, -1)
    for name, want in (
        ("min", values.min(1)),
        ("max", values.max(1)),
        ("mean", values.mean(1)),
        ("std", values.std(1)),
    ):
        np.testing.assert_allclose(got[name].ravel(), want)
    np.testing.assert_allclose(got["q10"].ravel(), np.quantile(values, 0.1, axis=1), atol=1 / 255)
    assert got["count"].tolist() == [4]


def test_large_pictures_are_thinned():
    counter = PictureStats()
    counter.add(np.full((480, 640, 3), 51, np.uint8))
    assert counter.result()["mean"].ravel().tolist() == [0.2] * 3


def test_moments_over_episodes_are_those_of_the_union():
    rng = np.random.default_rng(0)
    parts = [rng.normal(m, 1.0 + m, (n, 3)) for m, n in ((0, 5), (3, 40), (1, 1))]
    got = aggregate([{"a": vector_stats(part)} for part in parts])["a"]
    union = np.concatenate(parts)
    np.testing.assert_allclose(got["mean"], union.mean(axis=0))
    np.testing.assert_allclose(got["std"], union.std(axis=0))
    assert (got["q01"] <= np.quantile(union, 0.01, axis=0)).all() and (got["q99"] >= np.quantile(union, 0.99, 0)).all()


def test_episodes_without_quantiles_leave_none():
    full = vector_stats(np.arange(6.0).reshape(3, 2))
    old = {name: value for name, value in full.items() if not name.startswith("q")}
    assert "q01" not in aggregate([{"a": full}, {"a": old}])["a"]

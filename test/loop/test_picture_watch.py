"""Pictures that show nothing new, or nothing."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from rlt_ros.loop.picture_watch import PictureWatch, UselessPicture


def picture(level: float, seed: int, side: int = 64, noise: float = 2.0) -> array:
    rng = np.random.default_rng(seed)
    pixels = np.clip(rng.normal(level, noise, (side, side, 3)), 0, 255).astype(np.uint8)
    return array("B", pixels.tobytes())


@pytest.mark.parametrize("side", [8, 64, 480])
def test_noise_makes_every_picture_a_new_one(side: int) -> None:
    watch = PictureWatch()
    for seed in range(5):
        watch.look(picture(120.0, seed, side), "rgb8")


@pytest.mark.parametrize("side", [8, 64, 480])
def test_a_frozen_one_is_refused_until_it_changes(side: int) -> None:
    watch = PictureWatch()
    watch.look(picture(120.0, 0, side), "rgb8")
    for times in (2, 3):
        with pytest.raises(UselessPicture, match=f"the same picture {times} times"):
            watch.look(picture(120.0, 0, side), "rgb8")
    watch.look(picture(120.0, 1, side), "rgb8")
    watch.look(picture(120.0, 0, side), "rgb8")


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "mono8"])
def test_black_pictures_are_refused_though_they_have_noise(encoding: str) -> None:
    watch = PictureWatch()
    for seed in range(3):
        with pytest.raises(UselessPicture, match="black: mean level 1"):
            watch.look(picture(1.5, seed, noise=1.0), encoding)
    watch.look(picture(12.0, 9), encoding)


def test_dark_values_of_other_encodings_mean_something_else() -> None:
    watch = PictureWatch()
    watch.look(picture(1.0, 0), "16UC1")
    watch.look(array("B"), "rgb8")

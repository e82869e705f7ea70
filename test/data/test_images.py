"""Pictures to policy resolution."""

import numpy as np
import pytest

from rlt_ros.data.images import square


def test_area_average():
    picture = np.zeros((4, 4, 3), np.uint8)
    picture[:2, :2] = [[[0, 0, 0], [100, 0, 0]], [[0, 200, 0], [100, 200, 40]]]
    np.testing.assert_array_equal(square(picture, 2)[0, 0], [50, 100, 10])


def test_the_middle_is_kept():
    picture = np.zeros((4, 10, 3), np.uint8)
    picture[:, 3:7] = 255
    assert square(picture, 2).min() == 255


def test_a_fitting_picture_is_unchanged():
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    np.testing.assert_array_equal(square(picture, 8), picture)


@pytest.mark.parametrize("bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_anything_else_is_refused(bad):
    with pytest.raises(ValueError, match="expected uint8"):
        square(bad, 2)

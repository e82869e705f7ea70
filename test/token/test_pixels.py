"""Pictures instead of z_rl, with everything else as it is."""

from __future__ import annotations

import numpy as np
from stage1_example import observation, small_stage1

from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.token.pixels import SIDE, PixelExtractor, pixel_shape, small, with_pixels


def test_pictures_stand_in_the_place_of_z_and_all_else_is_the_same():
    stage1, seen = small_stage1(), observation(3)
    token, pixels = (kind(stage1, seed=5).features([seen])[0] for kind in (FeatureExtractor, PixelExtractor))
    np.testing.assert_array_equal(token.reference, pixels.reference)
    np.testing.assert_array_equal(token.proprio, pixels.proprio)
    assert pixels.z.shape == (np.prod(pixel_shape(stage1.contract)),) and pixels.z.dtype == np.float32
    assert -1.0 <= pixels.z.min() < pixels.z.max() <= 1.0


def test_pictures_are_averaged_channels_first_camera_by_camera():
    side = 2 * SIDE
    front = np.zeros((1, side, side, 3), np.uint8)
    front[0, :, :, 1] = 255  # green
    wrist = np.zeros((1, side, side, 3), np.uint8)
    wrist[0, 0, 0] = 255  # a quarter of the first pixel
    got = small({"wrist": wrist, "front": front}, ("front", "wrist")).view(6, SIDE, SIDE).numpy()
    assert (got[0] == -1.0).all() and (got[1] == 1.0).all() and (got[2] == -1.0).all()
    np.testing.assert_allclose(got[3:, 0, 0], -0.5)
    assert (got[3:].reshape(3, -1)[:, 1:] == -1.0).all()


def test_a_policy_that_sees_pictures_has_a_contract_of_its_own():
    contract = small_stage1().contract
    other = with_pixels(contract)
    assert other.fingerprint != contract.fingerprint
    assert other.sizes[0] == np.prod(pixel_shape(contract)) and other.sizes[1:] == contract.sizes[1:]

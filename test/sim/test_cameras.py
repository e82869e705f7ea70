from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.cameras import Intrinsics, Photographer, PixelNoise
from rlt_ros.sim.config import SensorConfig, SimConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.peg import PegInsertion


def is_peg(picture: np.ndarray) -> np.ndarray:
    r, g, b = (picture[..., i].astype(int) for i in range(3))
    return (b > r + 60) & (b > g + 40)


def is_rim(picture: np.ndarray) -> np.ndarray:
    r, g, b = (picture[..., i].astype(int) for i in range(3))
    return (r > g + 40) & (g > b + 30)


def project(world: PegInsertion, camera: str, point: np.ndarray) -> np.ndarray:
    """Pixel (column, row) of a point in the base frame, from the published intrinsics and the camera's pose."""
    k, c = world.intrinsics(camera), world.data.camera(camera)
    x, y, z = c.xmat.reshape(3, 3).T @ (point - c.xpos)
    return np.array([k.cx + k.fx * x / -z, k.cy - k.fy * y / -z])


def test_pictures_have_the_configured_names_and_size(world: PegInsertion, robot: RobotConfig) -> None:
    pictures = world.render()
    assert list(pictures) == list(robot.cameras)
    for picture in pictures.values():
        assert picture.shape == (128, 128, 3) and picture.dtype == np.uint8


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_peg_and_hole_are_in_every_picture(world: PegInsertion, camera: str, seed: int) -> None:
    world.reset(seed)
    picture = world.render()[camera]
    assert is_peg(picture).sum() > 200 and is_rim(picture).sum() > 60


def test_intrinsics_put_the_hole_where_the_picture_shows_it(world: PegInsertion) -> None:
    rows, columns = np.nonzero(is_rim(world.render()["front"]))
    seen = np.array([(columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2])
    np.testing.assert_allclose(project(world, "front", world.episode.hole.position), seen, atol=2.0)


def test_intrinsics_of_a_known_lens(world: PegInsertion) -> None:
    k = world.intrinsics("front")
    fovy = float(world.model.camera("front").fovy[0])
    assert 2 * np.degrees(np.arctan(64 / k.fy)) == pytest.approx(fovy)
    assert k == Intrinsics(128, 128, k.fy, k.fy, 63.5, 63.5)


def test_one_millimetre_of_the_peg_shows_at_64_pixels(world: PegInsertion, robot: RobotConfig) -> None:
    # The policy sees 64 x 64: half the pixels of what is rendered here.
    for camera in ("front", "wrist"):
        board_x, board_y = (
            project(world, camera, world.episode.hole.position + d)
            for d in (np.array([1e-3, 0, 0]), np.array([0, 1e-3, 0]))
        )
        here = project(world, camera, world.episode.hole.position)
        assert max(np.linalg.norm(board_x - here), np.linalg.norm(board_y - here)) / 2 > 0.4


def test_noise_has_the_configured_size(world: PegInsertion) -> None:
    grey = np.full((128, 128, 3), 128, np.uint8)
    noise = PixelNoise(2.0).apply(grey, (1, 2)).astype(float) - 128
    assert abs(noise.mean()) < 0.1 and noise.std() == pytest.approx(2.0, rel=0.05)


def test_noise_differs_between_steps_and_never_wraps() -> None:
    noise = PixelNoise(5.0)
    white = np.full((64, 64, 3), 255, np.uint8)
    assert noise.apply(white, (1,)).min() > 200
    assert not np.array_equal(noise.apply(white, (1,)), noise.apply(white, (2,)))


def test_picture_size_follows_the_config(robot: RobotConfig) -> None:
    config = dataclasses.replace(SimConfig(), sensors=SensorConfig(width=64, height=48))
    world = PegInsertion(config, robot)
    assert world.render()["wrist"].shape == (48, 64, 3)
    world.close()
    assert world.render()["wrist"].shape == (48, 64, 3)  # rendering after close opens a new context
    world.close()


def test_policies_pictures_do_not_change_when_a_person_looks(world: PegInsertion) -> None:
    before = world.render()
    overview = Photographer(world.model, 640, 480, fine=True)
    assert overview.picture(world.data, "overview").shape == (480, 640, 3)
    overview.close()
    for name, picture in world.render().items():
        np.testing.assert_array_equal(picture, before[name])


def test_only_peg_and_board_collide(world: PegInsertion) -> None:
    names = {world.model.body(int(world.model.geom_bodyid[g])).name for g in np.flatnonzero(world.model.geom_contype)}
    assert names == {"peg", "board"}
    assert world.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST

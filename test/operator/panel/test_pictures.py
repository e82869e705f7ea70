"""Pictures: the newest, its age, made once and only where looked at."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from operator_parts import Clock

from rlt_ros.operator.panel.pictures import WIDEST, Picture, Pictures


class Source:
    """A picture that counts how often it was read."""

    def __init__(self, rgb: np.ndarray) -> None:
        self.rgb, self.reads = rgb, 0

    def __call__(self) -> np.ndarray:
        self.reads += 1
        return self.rgb


def picture(height: int = 48, width: int = 64, color: tuple[int, int, int] = (200, 30, 60)) -> np.ndarray:
    return np.full((height, width, 3), color, np.uint8)


@pytest.fixture()
def clock() -> Clock:
    return Clock()


@pytest.fixture()
def pictures(clock: Clock) -> Pictures:
    return Pictures(["front", "wrist"], clock)


def decoded(jpeg: bytes) -> np.ndarray:
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def test_the_picture_is_the_cameras_own_in_its_colours(pictures: Pictures, clock: Clock) -> None:
    assert pictures.newest("front") == Picture()
    pictures.take("front", 1, Source(picture(color=(200, 30, 60))))
    pictures.take("wrist", 1, Source(picture(color=(10, 220, 20))))
    clock.now += 0.25
    front, wrist = pictures.newest("front"), pictures.newest("wrist")
    assert (front.number, front.age) == (1, pytest.approx(0.25))
    assert decoded(front.jpeg).shape == (48, 64, 3)
    np.testing.assert_allclose(decoded(front.jpeg)[20, 30], (200, 30, 60), atol=4)
    np.testing.assert_allclose(decoded(wrist.jpeg)[20, 30], (10, 220, 20), atol=4)


def test_a_picture_is_made_once_and_sent_once_to_each(pictures: Pictures) -> None:
    sources = [Source(picture()) for _ in range(3)]
    for stamp, source in enumerate(sources, 1):
        pictures.take("front", stamp, source)
    assert pictures.newest("front").jpeg == pictures.newest("front").jpeg != b""
    assert [source.reads for source in sources] == [0, 0, 1]
    assert pictures.newest("front", after=3).jpeg == b""
    pictures.take("front", 4, Source(picture()))
    assert pictures.newest("front", after=3).number == 4
    # A page that outlived a panel asks after a picture that this one has not had.
    assert pictures.newest("front", after=99).jpeg != b""


def test_a_stamp_that_comes_again_is_no_new_picture(pictures: Pictures, clock: Clock) -> None:
    pictures.take("front", 7, Source(picture()))
    for _ in range(5):
        clock.now += 1.0
        pictures.take("front", 7, Source(picture()))
    assert (pictures.newest("front").number, pictures.newest("front").age) == (1, pytest.approx(5.0))


def test_wide_pictures_are_made_smaller(pictures: Pictures) -> None:
    pictures.take("front", 1, Source(picture(1080, 1920)))
    assert decoded(pictures.newest("front").jpeg).shape == (360, WIDEST, 3)


def test_what_is_no_picture_is_said_as_long_as_it_is_the_newest(pictures: Pictures) -> None:
    def broken() -> np.ndarray:
        raise ValueError("image encoding '16UC1' cannot be turned into rgb8")

    pictures.take("front", 1, broken)
    for after in (0, 1):
        shown = pictures.newest("front", after)
        assert "16UC1" in shown.problem
        assert shown.jpeg == b""
    pictures.take("front", 2, Source(picture()))
    assert pictures.newest("front", 1).problem == ""

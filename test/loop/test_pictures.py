"""Full-size pictures for observations: those that the observation node has seen, never later ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from demonstrations import observation

from rlt_ros.loop.pictures import FullPictures
from rlt_ros.types import Observation

MS = 1_000_000


def picture(level: int) -> np.ndarray:
    return np.full((48, 64, 3), level, np.uint8)


def at(number: int, milliseconds: int) -> Observation:
    return replace(observation(number), stamp=milliseconds * MS)


def levels(observations: list[Observation]) -> list[tuple[int, dict[str, int]]]:
    return [(o.id, {name: int(rgb[0, 0, 0]) for name, rgb in o.images.items()}) for o in observations]


def test_in_lockstep_the_stamps_are_equal() -> None:
    full = FullPictures(("front", "wrist"), exact=True)
    assert full.picture("front", 50 * MS, picture(1)) == []
    assert full.observation(at(1, 50)) == []
    assert full.picture("front", 100 * MS, picture(2)) == [], "the wrist's picture of 50 ms is still to come"
    [complete] = full.picture("wrist", 50 * MS, picture(3))
    assert levels([complete]) == [(1, {"front": 1, "wrist": 3})] and complete.images["front"].shape == (48, 64, 3)


def test_in_real_time_the_newest_before_the_observation_once_a_later_one_has_come() -> None:
    full = FullPictures(("front", "wrist"), exact=False)
    for camera in ("front", "wrist"):
        full.picture(camera, 10 * MS, picture(1))
        full.picture(camera, 40 * MS, picture(2))
    assert full.observation(at(1, 50)) == [], "one of 45 ms may still be on its way"
    full.picture("front", 75 * MS, picture(3))
    assert levels(full.picture("wrist", 49 * MS, picture(4))) == []
    assert levels(full.picture("wrist", 80 * MS, picture(5))) == [(1, {"front": 2, "wrist": 4})]


def test_an_observation_without_a_picture_is_given_up_and_the_next_goes_on() -> None:
    full = FullPictures(("front",), exact=True, patience=3)
    for number in (1, 2, 3):
        assert full.observation(at(number, 50 * number)) == []
    for number in (2, 3, 4):
        full.picture("front", 50 * number * MS, picture(number))
    assert [o.id for o in full.observation(at(4, 200))] == [2, 3, 4]


def test_an_observation_that_is_sent_again_is_not_waited_for_twice() -> None:
    full = FullPictures(("front",), exact=True)
    assert full.observation(at(1, 50)) == full.observation(at(1, 50)) == []
    assert [o.id for o in full.picture("front", 50 * MS, picture(1))] == [1]

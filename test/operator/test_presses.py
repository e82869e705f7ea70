"""A held key is one press; stop is never held back. Field report A29."""

from __future__ import annotations

from operator_parts import PRESET, Clock

from rlt_ros.operator.keys import load_keys
from rlt_ros.operator.presses import Debounce, KeyTest


def test_a_held_key_counts_once_however_long() -> None:
    clock = Clock()
    debounce = Debounce(clock=clock)
    counted = []
    for gap in (0.0, 0.66, *[0.033] * 200):  # X11: the first repetition after 0.66 s, then 30 a second
        clock.now += gap
        counted.append(debounce.counts("begin"))
    assert counted == [True] + [False] * 201
    clock.now += 0.8
    assert debounce.counts("begin")


def test_keys_of_other_actions_are_not_held_back() -> None:
    debounce = Debounce(clock=Clock())
    assert debounce.counts("vla") and debounce.counts("rl") and not debounce.counts("vla")


def test_every_press_of_stop_counts() -> None:
    debounce = Debounce(clock=Clock())
    assert all(debounce.counts("stop") for _ in range(5))


def test_the_key_test_tells_what_came_what_is_missing_and_what_is_unknown() -> None:
    test = KeyTest(load_keys(PRESET))
    test.press("b")
    test.press("z")
    assert test.tried == {"begin"} and test.unknown == "z"
    assert "begin" not in test.missing and test.missing[0] == "stop"
    test.press("space")
    assert test.unknown == "" and test.missing[0] == "success"

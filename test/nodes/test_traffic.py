"""Rates, ages and refusals of what a node hears."""

from __future__ import annotations

import pytest

from rlt_ros.nodes.traffic import Traffic


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_look_counts_since_the_look_before() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    for _ in range(20):
        traffic.came("observation")
    traffic.refused("observation")
    clock.now += 2.0
    heard = traffic.look()["observation"]
    assert (heard.rate, heard.age, heard.refused) == (pytest.approx(10.0), pytest.approx(2.0), 1)
    assert str(heard) == "10.0 Hz, last 2.00 s ago, 1 refused"
    clock.now += 1.0
    later = traffic.look()["observation"]
    assert (later.rate, later.age, later.refused) == (0.0, pytest.approx(3.0), 0), "silence is seen"


def test_what_never_came_is_not_named() -> None:
    assert Traffic(Clock()).look() == {}

"""What must keep coming. Field reports A06, B41, and the clocks of A34."""

from __future__ import annotations

import pytest

from rlt_ros.loop.watchdogs import ClockWatch, Limits, Watchdog, Watchdogs

NAMES = ("observation", "state", "policy", "chunk", "human")


@pytest.mark.parametrize("name", NAMES)
def test_each_bites_by_its_own_limit_names_itself_and_lets_go_by_itself(name: str) -> None:
    dogs = Watchdogs(Limits(**{f"watch_{name}": 0.05}))
    for other in NAMES:
        dogs.feed(other, 10.0)
    assert not any(dogs.watch(10.0).values()) and not any(dogs.watch(10.04).values())
    said = dogs.watch(10.06)
    assert said.pop(name) == f"{name}: silent for 0.06 s, limit 0.05 s" and not any(said.values())
    dogs.feed(name, 10.07)
    assert not any(dogs.watch(10.08).values())
    assert dogs.bites[name] == 1 and dogs.bites.total() == 1


def test_a_bite_is_counted_once_however_long_it_lasts() -> None:
    dog = Watchdog("state", 0.1)
    dog.feed(0.0)
    for i in range(100):
        dog.watch(i * 0.02)
    assert dog.bites == 1


def test_what_is_not_needed_does_not_bite_and_gets_its_time_when_it_is() -> None:
    """A person who takes over has the deadman's time to send the first command."""
    dog = Watchdog("human", 0.1)
    assert dog.watch(50.0, needed=False) == ""
    assert dog.watch(60.0) == "" and dog.watch(60.09) == ""
    assert dog.watch(60.11) == "human: none has come, limit 0.10 s"
    dog.feed(60.2)
    assert dog.watch(60.25) == ""
    assert dog.watch(70.0, needed=False) == "" and dog.watch(80.0) == ""


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_never_bites_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="watch_state"):
        Limits(watch_state=limit)


def test_defaults_leave_time_to_hold_within_a_fifth_of_a_second() -> None:
    for dog in Watchdogs().dogs.values():
        assert dog.limit + 2 * 0.02 < 0.2, "two set-points later the arm stands"


def test_a_clock_that_runs_is_silent() -> None:
    clock = ClockWatch()
    for i in range(100):
        assert clock.look(10**9 + i * 20_000_000, i * 0.02) == ""


def test_a_clock_that_goes_back_stands_still_or_jumps_is_named() -> None:
    clock = ClockWatch(limit=0.1)
    clock.look(10_000_000_000, 0.0)
    assert clock.look(9_000_000_000, 0.02) == "clock: time went back by 1.000 s"
    assert clock.look(9_020_000_000, 0.04) == ""
    assert clock.look(12_020_000_000, 0.06) == "clock: time jumped ahead by 3.000 s"
    assert clock.look(12_020_000_000, 0.10) == ""
    assert clock.look(12_020_000_000, 0.20).startswith("clock: time has stood still for 0.14 s")
    assert clock.look(12_040_000_000, 0.22) == ""

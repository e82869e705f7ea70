"""Deadman, silence, unplugging, presses. Field reports B40, B41, B42."""

from __future__ import annotations

import numpy as np
import pytest
from device_parts import BEGIN, DEADMAN, STOP, TOGGLE, Person, pad
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.loop.requests import Request
from rlt_ros.operator.devices.deadman import Hold
from rlt_ros.operator.devices.hands import Hands
from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.operator.devices.reading import FRESH, LOST, Arrivals, Reading
from rlt_ros.types import Mode

FORWARD = {1: 1.0}


def ready() -> Person:
    """With the deadman seen released."""
    person = Person()
    person.look()
    return person


def driving() -> Person:
    person = ready()
    person.look(DEADMAN)
    person.hands.deadman.answered(True)
    person.hands.deadman.word(Mode.HUMAN)
    return person


def test_pressing_takes_over_and_letting_go_hands_back() -> None:
    person = ready()
    orders = person.look(DEADMAN, axes=FORWARD)
    assert orders.requests == [("pad", Request.MODE_HUMAN)]
    np.testing.assert_allclose(orders.twists["pad"], [1, 0, 0, 0, 0, 0])
    assert orders.at == person.now
    assert person.look(DEADMAN, times=20).requests == []
    orders = person.look()
    assert orders.requests == [("pad", Request.HAND_BACK)] and not orders.twists


def test_without_the_deadman_sticks_move_nothing() -> None:
    assert not ready().look(axes=FORWARD, times=10).twists


def test_a_deadman_held_at_the_start_counts_from_its_next_press_on() -> None:
    person = Person()
    orders = person.look(DEADMAN, axes=FORWARD, times=50)
    assert orders.requests == [] and not orders.twists
    assert person.hands.deadman.state is Hold.LOCKED
    person.look()
    assert person.look(DEADMAN).requests == [("pad", Request.MODE_HUMAN)]


def test_a_topic_that_falls_silent_while_deflected_stops_within_a_tenth_of_a_second() -> None:
    """B41: an unplugged gamepad, a killed driver, autorepeat switched off: the last thing said is a full deflection."""
    person = driving()
    assert person.look(DEADMAN, axes=FORWARD).twists
    person.silent, last = True, person.now
    while person.look(DEADMAN).twists:
        pass
    assert person.now - last <= FRESH + 0.011
    assert person.look(DEADMAN, times=10).requests == [], "a short gap is no release"
    person.silent = False
    assert person.look(DEADMAN).twists, "and ends as it began"


def test_a_silence_is_a_hold_and_needs_the_deadman_anew() -> None:
    person = driving()
    person.silent = True
    orders = person.look(DEADMAN, times=round(LOST * 100) + 5)
    assert orders.requests == [("pad", Request.MODE_HOLD)], "nobody has let go on purpose: the policy does not go on"
    person.silent = False
    orders = person.look(DEADMAN, axes=FORWARD, times=20)
    assert orders.requests == [] and not orders.twists
    person.look()
    assert person.look(DEADMAN).requests == [("pad", Request.MODE_HUMAN)]


def test_unplugged_is_a_hold_at_once() -> None:
    """B40."""
    person = driving()
    person.fault = "unplugged"
    orders = person.look(DEADMAN)
    assert orders.requests == [("pad", Request.MODE_HOLD)] and not orders.twists
    assert person.look(times=10).requests == []


def test_unplugged_while_nobody_drives_asks_for_nothing() -> None:
    person = ready()
    person.fault = "unplugged"
    assert person.look(times=10).requests == []


@pytest.mark.parametrize("mode", [Mode.RESET, Mode.HOLD, Mode.VLA, Mode.RL])
def test_a_turn_that_others_end_is_over_until_the_deadman_is_pressed_again(mode: Mode) -> None:
    """A label, a stop, a key on the console: the arm is not taken back behind its back."""
    person = driving()
    person.hands.deadman.word(mode)
    orders = person.look(DEADMAN, axes=FORWARD, times=20)
    assert orders.requests == [] and not orders.twists
    assert person.look().requests == [], "there is nothing to hand back"
    assert person.look(DEADMAN).requests == [("pad", Request.MODE_HUMAN)]


def test_a_refused_takeover_moves_nothing_until_the_next_press() -> None:
    person = ready()
    person.look(DEADMAN, axes=FORWARD)
    person.hands.deadman.answered(False)
    orders = person.look(DEADMAN, times=5)
    assert orders.requests == [] and not orders.twists


def test_words_from_before_the_turn_do_not_end_it() -> None:
    person = ready()
    person.look(DEADMAN)
    for mode in (Mode.VLA, Mode.HUMAN):
        person.hands.deadman.word(mode)
    assert person.hands.deadman.state is Hold.ASKED
    person.hands.deadman.answered(True)
    person.hands.deadman.word(Mode.VLA)
    assert person.look(DEADMAN, axes=FORWARD).twists
    person.hands.deadman.word(Mode.HUMAN)
    assert person.hands.deadman.state is Hold.DRIVES


@pytest.mark.parametrize(
    ("mode", "accepted", "idle"), [(Mode.HUMAN, True, True), (Mode.VLA, True, False), (Mode.HUMAN, False, False)]
)
def test_who_hands_back_where_a_person_is_wanted_says_that_nothing_more_comes(
    mode: Mode, accepted: bool, idle: bool
) -> None:
    """Else the last twist would go on until it is too old."""
    person = driving()
    assert person.look().requests == [("pad", Request.HAND_BACK)]
    person.hands.deadman.handed_back(accepted)
    assert person.hands.deadman.word(mode) is idle
    assert person.hands.deadman.word(mode) is False  # once


def test_a_button_asks_once_when_it_goes_down_and_needs_no_deadman() -> None:
    person = ready()
    assert person.look(BEGIN, times=30).requests == [("pad", Request.BEGIN)]
    assert person.look(times=3).requests == []
    assert person.look(BEGIN).requests == [("pad", Request.BEGIN)]


def test_a_button_held_when_the_device_comes_or_comes_back_was_not_pressed() -> None:
    person = Person()
    assert person.look(BEGIN, times=5).requests == []
    person.look()
    person.fault = "unplugged"
    person.look(times=5)
    person.fault = ""
    assert person.look(BEGIN, times=5).requests == []


def test_a_stop_on_the_device_has_the_last_word() -> None:
    person = ready()
    assert person.look(DEADMAN, STOP).requests == [("pad", Request.MODE_HUMAN), ("pad", Request.MODE_HOLD)]


def test_a_short_press_of_the_gripper_lasts_until_the_executor_has_seen_it() -> None:
    person = driving()
    gripper = person.hands.gripper
    gripper.executed(1.0)
    person.look(DEADMAN, TOGGLE)
    person.look(DEADMAN, times=5)
    assert gripper.value == -1.0
    gripper.executed(1.0)
    assert gripper.value == -1.0
    gripper.executed(-1.0)
    assert gripper.value == 0.0, "held by the executor from here on"
    person.look(DEADMAN, TOGGLE)
    assert gripper.value == 1.0
    person.look()
    assert gripper.value == 0.0, "let go: the press is forgotten"


def test_gripper_buttons_of_their_own() -> None:
    person = Person(pad(gripper={"close": 5, "open": 7}))
    person.look()
    person.look(DEADMAN)
    person.look(DEADMAN, 7)
    assert person.hands.gripper.value == 1.0
    person.look(DEADMAN, 5)
    assert person.hands.gripper.value == -1.0


def test_a_gripper_button_without_the_deadman_does_nothing() -> None:
    person = ready()
    person.hands.gripper.executed(1.0)
    person.look(TOGGLE)
    person.look(DEADMAN)
    assert person.hands.gripper.value == 0.0


def pedal_and_mouse() -> Hands:
    mouse = pad(deadman=None, gripper={}, buttons={})
    return Hands({"mouse": mouse, "pedal": DeviceMap(kind="evdev", name="x", deadman="KEY_B")})


def test_a_deadman_on_another_device_needs_both_alive() -> None:
    hands = pedal_and_mouse()
    still, held = Reading(1.0, {}, frozenset()), Reading(1.0, {}, frozenset({"KEY_B"}))
    mouse = Reading(1.0, FORWARD)
    hands.look(1.0, {"mouse": mouse, "pedal": still})
    orders = hands.look(1.0, {"mouse": mouse, "pedal": held})
    assert orders.requests == [("pedal", Request.MODE_HUMAN)]
    np.testing.assert_allclose(orders.twists["mouse"], [1, 0, 0, 0, 0, 0])
    held = Reading(1.3, {}, frozenset({"KEY_B"}))
    assert not hands.look(1.3, {"mouse": mouse, "pedal": held}).twists, "the mouse said so 0.3 s ago"
    orders = hands.look(1.3, {"mouse": mouse, "pedal": Reading(fault="unplugged")})
    assert orders.requests == [("pedal", Request.MODE_HOLD)]


@given(st.lists(st.tuples(st.sampled_from(["press", "release", "silent", "fault", "taken"]), st.integers(1, 80))))
def test_whatever_happens_there_is_motion_only_with_a_fresh_held_deadman_and_every_turn_ends(steps: list) -> None:
    person = ready()
    turn = False
    for what, times in steps:
        person.silent, person.fault = what == "silent", "unplugged" if what == "fault" else ""
        if what == "taken" and turn:
            person.hands.deadman.word(Mode.VLA)
            turn = False
        held = () if what == "release" else (DEADMAN,)
        for _ in range(times):
            orders = person.look(*held, axes=FORWARD)
            for _, request in orders.requests:
                assert turn == (request is not Request.MODE_HUMAN), "a turn begins once and ends once"
                turn = request is Request.MODE_HUMAN
                if turn:
                    person.hands.deadman.answered(True)
                    person.hands.deadman.word(Mode.HUMAN)
            if orders.twists:
                assert DEADMAN in person.pressed and not person.fault and person.now - person.at <= FRESH + 1e-9
    person.silent = False
    person.fault = ""
    for _, request in person.look(times=2).requests:
        assert turn and request is Request.HAND_BACK
        turn = False
    assert not turn


class Clock:
    """A sender whose clock is off, over a way that takes its time."""

    def __init__(self) -> None:
        self.arrivals, self.now = Arrivals(), 50.0

    def comes(self, said: float, late: float = 0.0) -> float:
        """Age in s of a message said at a time of ours that comes now, `late` s after that."""
        self.now = said + late
        return self.now - self.arrivals.at(round((said + 1234.5) * 1e9), self.now)


def test_a_clock_that_is_off_does_not_make_an_input_old_and_a_queue_does() -> None:
    clock = Clock()
    for i in range(50):
        assert clock.comes(50.0 + 0.02 * i, 0.001) <= 0.002
    assert clock.comes(51.0, 0.8) == pytest.approx(0.799, abs=1e-3), "it was said 0.8 s ago"
    assert clock.comes(52.0, 0.001) == pytest.approx(0.0, abs=1e-6)


def test_a_message_that_is_sent_again_and_again_grows_old() -> None:
    """A driver or a bridge that stands still and repeats its last message: stuck values."""
    clock = Clock()
    clock.comes(50.0)
    ages = [clock.comes(50.0, 0.02 * i) for i in range(1, 20)]
    assert ages == pytest.approx([0.02 * i for i in range(1, 20)], abs=1e-6)
    assert clock.comes(50.0, 60.0) > LOST, "however long it lasts"


def test_a_clock_that_was_set_back_counts_again_after_a_while() -> None:
    clock = Clock()
    for i in range(10):
        clock.comes(50.0 + i * 0.02)
    ages = []
    for i in range(1200):
        clock.now = 50.2 + 0.02 * i
        ages.append(clock.now - clock.arrivals.at(round((clock.now + 1229.5) * 1e9), clock.now))
    assert ages[0] == pytest.approx(5.0, abs=0.01) and ages[-1] == pytest.approx(0.0, abs=0.01)


def test_an_unstamped_message_is_as_old_as_its_arrival() -> None:
    assert Arrivals().at(0, 3.0) == 3.0

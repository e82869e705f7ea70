"""Field report A09: one convention, held states, one command per change, the first one always."""

from __future__ import annotations

import math

import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.robot.gripper import GripperLatch


def latch(width: float = 0.08) -> GripperLatch:
    made = GripperLatch(load_robot().gripper)
    made.start(width)
    return made


def commands(gripper: GripperLatch, values: list[float]) -> list[float | None]:
    return [gripper.update(value) for value in values]


def test_one_command_per_change() -> None:
    gripper = latch()
    assert commands(gripper, [-1, -1, -1, 1, 1]) == [-1.0, None, None, 1.0, None]
    assert gripper.held == 1.0


@pytest.mark.parametrize("width", [0.0, 0.016, 0.08])
@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_the_first_command_is_always_acted_on(width: float, value: float) -> None:
    assert commands(latch(width), [value, value]) == [value, None]


def test_the_held_state_at_the_start_comes_from_the_measured_width() -> None:
    assert latch(0.0).held == -1.0
    assert latch(0.016).held == -1.0, "a gripper that holds a 16 mm peg is closed"
    assert latch(0.08).held == 1.0


def test_hysteresis() -> None:
    gripper = latch()
    assert commands(gripper, [-1.0, 0.29, -0.29, 0.3, 0.0, -0.3]) == [-1.0, None, None, 1.0, None, -1.0]


def test_widths_in_metres_decide_nothing() -> None:
    gripper = latch()
    assert commands(gripper, [0.0, 0.04, 0.08]) == [None, None, None]


def test_a_zero_to_one_convention_never_closes() -> None:
    assert commands(latch(), [0.0, 0.5, 1.0, 0.0]) == [None, 1.0, None, None]


def test_values_that_are_not_finite_decide_nothing() -> None:
    gripper = latch()
    assert commands(gripper, [math.nan, -1.0, math.nan]) == [None, -1.0, None]
    assert gripper.held == -1.0


def test_width_of_the_held_state() -> None:
    gripper = latch()
    assert gripper.width == 0.08
    gripper.update(-1.0)
    assert gripper.width == 0.0


def test_a_new_start_commands_again() -> None:
    gripper = latch()
    gripper.update(-1.0)
    gripper.start(0.0)
    assert gripper.update(-1.0) == -1.0

"""The simulated driver recovers as the real one: three steps, in their order."""

from __future__ import annotations

import pytest

from rlt_ros.robot.config import load_robot
from rlt_ros.sim.driver import SimDriver
from rlt_ros.sim.fault_effects import FaultyRobot
from rlt_ros.sim.faults import FaultSchedule

CONFIG = load_robot().recovery
CONTROLLERS = list(CONFIG.controllers)


@pytest.fixture()
def schedule() -> FaultSchedule:
    made = FaultSchedule(["front"])
    made.plan("reflex@1:0")
    return made


def states(driver: SimDriver, now: float) -> set[str]:
    return set(driver.controllers(now).values())


def test_three_steps_bring_the_arm_back(schedule: FaultSchedule) -> None:
    driver, faulty = SimDriver(CONFIG, schedule), FaultyRobot(schedule)
    assert states(driver, 0.5) == {"active"} and states(driver, 2.0) == {"inactive"}
    driver.clear_errors(2.0)
    faulty.advance(2.0)
    assert faulty.names == ["controller_gone@2:inf=0"] and faulty.deaf
    assert driver.switch(CONTROLLERS, 2.0) == (
        False,
        "FrankaHardwareInterface is inactive: its command interfaces cannot be claimed",
    )
    assert driver.activate_hardware(CONFIG.hardware, 2.0) == (True, "active")
    assert states(driver, 2.0) == {"inactive"}
    assert driver.switch(CONTROLLERS, 2.0) == (True, "")
    faulty.advance(2.0)
    assert not faulty.names and states(driver, 2.0) == {"active"}


def test_nothing_can_be_activated_during_a_reflex(schedule: FaultSchedule) -> None:
    driver = SimDriver(CONFIG, schedule)
    driver.clear_errors(0.5)
    assert driver.switch(CONTROLLERS, 2.0)[0] is False
    assert states(driver, 2.0) == {"inactive"}


def test_unknown_names_are_refused(schedule: FaultSchedule) -> None:
    driver = SimDriver(CONFIG, schedule)
    assert driver.activate_hardware("TestSystem", 0.5) == (False, "")
    assert driver.switch(["other"], 0.5) == (False, "controller 'other' is not loaded")

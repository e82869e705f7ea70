"""What ros2_control and franka_ros2 keep of the simulated robot: its hardware component and its controllers."""

from __future__ import annotations

from collections.abc import Sequence

from rlt_ros.robot.sections import Recovery
from rlt_ros.sim.faults import FaultSchedule

ACTIVE, INACTIVE = "active", "inactive"
GONE = "controller_gone"
"""The fault that an arm without an active controller has."""


class SimDriver:
    """The three steps of recovery, as the robot demands them: a reflex takes the hardware component down and with it
    the controllers; clearing the errors leaves an idle arm, whose hardware must be activated before its controllers.

    Times in s of robot time. schedule: of the faults, which end and begin here.
    """

    def __init__(self, config: Recovery, schedule: FaultSchedule) -> None:
        self._config, self._schedule = config, schedule
        self._hardware = ACTIVE

    def _has(self, kind: str, now: float) -> bool:
        return any(fault.kind == kind for fault in self._schedule.at(now))

    def clear_errors(self, now: float) -> None:
        """error_recovery has done its work."""
        if self._has("reflex", now):
            self._schedule.recover(now)
            self._schedule.begin(GONE, 0.0, 0.0, "", now)
            self._hardware = INACTIVE

    def activate_hardware(self, name: str, now: float) -> tuple[bool, str]:
        """set_hardware_component_state to active: whether it worked, and the state it is in, empty if it is unknown."""
        if name != self._config.hardware:
            return False, ""
        if not self._has("reflex", now):
            self._hardware = ACTIVE
        return self._hardware == ACTIVE, self._hardware

    def switch(self, activate: Sequence[str], now: float) -> tuple[bool, str]:
        """switch_controller, best effort: whether it worked, and why not."""
        unknown = [name for name in activate if name not in self._config.controllers]
        if unknown:
            return False, f"controller {unknown[0]!r} is not loaded"
        if self._hardware != ACTIVE or self._has("reflex", now):
            return False, f"{self._config.hardware} is {INACTIVE}: its command interfaces cannot be claimed"
        if activate:
            self._schedule.end(GONE)
        return True, ""

    def controllers(self, now: float) -> dict[str, str]:
        """Name to state of each controller."""
        running = self._hardware == ACTIVE and not self._has("reflex", now) and not self._has(GONE, now)
        return dict.fromkeys(self._config.controllers, ACTIVE if running else INACTIVE)

"""Presses of a device's buttons: those that ask for something, and those of the gripper."""

from __future__ import annotations

from rlt_ros.loop.requests import Request
from rlt_ros.operator.devices.mapping import Button, DeviceMap
from rlt_ros.operator.keys import REQUESTS


class Edges:
    """Buttons that went down. One that is held when the device is first seen, or seen again, was not pressed."""

    def __init__(self) -> None:
        self._before: frozenset[Button] | None = None

    def down(self, pressed: frozenset[Button]) -> frozenset[Button]:
        """Those that went down since the last look."""
        before, self._before = self._before, pressed
        return frozenset() if before is None else pressed - before

    def forget(self) -> None:
        """The device was lost."""
        self._before = None


def asked(device: DeviceMap, down: frozenset[Button]) -> list[Request]:
    """Requests of the buttons that went down."""
    return [REQUESTS[action] for action, button in device.buttons.items() if button in down]


class GripperWish:
    """Keeps a short press of a gripper button until the executor has taken it up: it looks once a control step.

    held: state of the gripper, -1 closed, 1 open, as the last executed step says; 0 before the first.
    """

    def __init__(self) -> None:
        self.held = 0.0
        self.value = 0.0
        """What to send: -1 closes, 1 opens, 0 leaves it as it is held."""

    def press(self, device: DeviceMap, down: frozenset[Button]) -> None:
        """Buttons went down."""
        keys = device.gripper
        if keys.toggle in down:
            self.value = -self.held
        for button, wish in ((keys.close, -1.0), (keys.open, 1.0)):
            if button in down:
                self.value = wish

    def executed(self, held: float) -> None:
        """State of the gripper after an executed step."""
        self.held = held
        if held == self.value:
            self.value = 0.0

    def drop(self) -> None:
        """The person does not drive: a press means nothing."""
        self.value = 0.0

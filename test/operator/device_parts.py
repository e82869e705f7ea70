"""Devices as tests hold them."""

from __future__ import annotations

from typing import Any

from rlt_ros.operator.devices.hands import Hands, Orders
from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.operator.devices.reading import Reading
from rlt_ros.strict import build

DEADMAN, TOGGLE, BEGIN, STOP = 4, 5, 3, 9
PAD = {
    "kind": "joy",
    "topic": "/joy",
    "deadman": DEADMAN,
    "axes": {"dx": {"axis": 1}, "dy": {"axis": 0}, "dz": {"axis": 4}, "rz": {"axis": 3, "scale": 0.5}},
    "gripper": {"toggle": TOGGLE},
    "buttons": {"begin": BEGIN, "stop": STOP},
}


def pad(**changes: Any) -> DeviceMap:
    """A gamepad's mapping."""
    return build(DeviceMap, PAD | changes, "pad")


class Person:
    """Holds a gamepad and looks at 100 Hz; `silent`: the gamepad says nothing more."""

    def __init__(self, device: DeviceMap | None = None) -> None:
        self.hands = Hands({"pad": device or pad()})
        self.now, self.at = 100.0, 100.0
        self.pressed: frozenset[int] = frozenset()
        self.axes: dict[int, float] = dict.fromkeys(range(8), 0.0)
        self.silent, self.fault = False, ""

    def look(self, *pressed: int, axes: dict[int, float] | None = None, times: int = 1) -> Orders:
        """Hold these buttons and sticks for some looks; the orders of the last one with all requests."""
        self.pressed = frozenset(pressed)
        self.axes |= axes or {}
        requests = []
        for _ in range(times):
            self.now += 0.01
            self.at = self.at if self.silent else self.now
            reading = Reading(fault=self.fault) if self.fault else Reading(self.at, dict(self.axes), self.pressed)
            orders = self.hands.look(self.now, {"pad": reading})
            requests += orders.requests
        return Orders(requests, orders.twists, orders.at)

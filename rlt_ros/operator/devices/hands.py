"""A person's devices taken together: what they ask for, and how they move the arm, at every look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.loop.requests import Request
from rlt_ros.operator.devices.axes import twist
from rlt_ros.operator.devices.deadman import Deadman
from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.operator.devices.presses import Edges, GripperWish, asked
from rlt_ros.operator.devices.reading import Reading


@dataclass(frozen=True)
class Orders:
    """What one look led to. requests: device and what it asks for. twists: device -> float64 (6,) along the axes of its
    frame, empty where the person does not drive. at: s of a steady clock at which all that drives was so.
    """

    requests: list[tuple[str, Request]] = field(default_factory=list)
    twists: dict[str, np.ndarray] = field(default_factory=dict)
    at: float = 0.0


class Hands:
    """devices: name -> mapping, as `mapping.load_devices` gives them."""

    def __init__(self, devices: Mapping[str, DeviceMap]) -> None:
        self._devices = devices
        self._edges = {name: Edges() for name in devices}
        self._holder = next((name for name, device in devices.items() if device.deadman is not None), None)
        self._drivers = [name for name, d in devices.items() if d.axes or d.gripper.given or name == self._holder]
        self.deadman, self.gripper = Deadman(), GripperWish()

    @property
    def holder(self) -> str | None:
        """The device that has the deadman."""
        return self._holder

    def look(self, now: float, readings: Mapping[str, Reading]) -> Orders:
        """One look at every device; now: s of a steady clock."""
        requests = [(name, request) for name in self._devices for request in self._presses(name, now, readings[name])]
        if self._holder is None:
            return Orders(requests)
        driving = [readings[name] for name in self._drivers]
        fresh = all(reading.fresh(now) for reading in driving)
        request = self.deadman.look(self._held(now, readings), any(reading.lost(now) for reading in driving))
        if request is not None:
            # Before whatever else was pressed: a stop on the same device has the last word.
            requests.insert(0, (self._holder, request))
        if not (self.deadman.takes and fresh and self._held(now, readings)):
            self.gripper.drop()
            return Orders(requests)
        twists = {name: twist(self._devices[name], readings[name].axes) for name in self._drivers}
        return Orders(requests, twists, min(reading.at for reading in driving))

    def _held(self, now: float, readings: Mapping[str, Reading]) -> bool | None:
        reading = readings[self._holder]
        return self._devices[self._holder].deadman in reading.pressed if reading.fresh(now) else None

    def _presses(self, name: str, now: float, reading: Reading) -> list[Request]:
        if reading.lost(now):
            self._edges[name].forget()
        if not reading.fresh(now):
            return []
        down = self._edges[name].down(reading.pressed)
        self.gripper.press(self._devices[name], down)
        return asked(self._devices[name], down)

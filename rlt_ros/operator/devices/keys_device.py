"""A device with keys, such as a foot pedal, read from the kernel: found by name, taken exclusively, found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.operator.devices.reading import Reading

AGAIN = 1.0
"""s between two looks for a device that is not there."""


@dataclass(frozen=True)
class Found:
    """A device that the kernel shows. keys: names of the keys that it has."""

    path: str
    name: str
    phys: str
    uniq: str
    keys: frozenset[str]

    def __str__(self) -> str:
        marks = "".join(f", {key} {value}" for key, value in (("phys", self.phys), ("uniq", self.uniq)) if value)
        return f"{self.name!r} ({self.path}{marks})"


class Handle(Protocol):
    """An open device."""

    def grab(self) -> None:
        """Take it exclusively: its keys do not type anywhere else. Raises OSError."""

    def held(self) -> frozenset[str]:
        """Names of the keys that are down now, as the kernel knows it. Raises OSError."""

    def changes(self) -> Iterable[tuple[str, bool]]:
        """Keys that went down (true) or up since the last call, in their order. Raises OSError once it is gone."""

    def close(self) -> None:
        """Give it back."""


class Kernel(Protocol):
    """What lists and opens devices: `evdev_port`, or a test's."""

    def devices(self) -> list[Found]:
        """Devices that can be opened."""

    def unreadable(self) -> list[str]:
        """Paths of those that this user may not open."""

    def open(self, path: str) -> Handle:
        """Open one. Raises OSError."""


class KeysDevice:
    """A `Device` of kind evdev. say: told when it was taken."""

    def __init__(self, name: str, device: DeviceMap, kernel: Kernel, say: Callable[[str], None]) -> None:
        self.name, self.map = name, device
        self._kernel, self._say = kernel, say
        self._handle: Handle | None = None
        self._pressed: set[str] = set()
        self._fault, self._tried = "not looked for yet", float("-inf")

    def read(self, now: float) -> Reading:
        """As `Device.read`; whatever is held is true now, since the kernel tells every change."""
        if self._handle is None and now - self._tried >= AGAIN:
            self._tried = now
            self._fault = self._open()
        if self._handle is None:
            return Reading(fault=self._fault)
        try:
            down = self._follow()
        except OSError as error:
            self.close()
            self._tried, self._fault = now, f"unplugged ({error.strerror})"
            return Reading(fault=self._fault)
        return Reading(now, {}, down)

    def close(self) -> None:
        """Give it back."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def _follow(self) -> frozenset[str]:
        """Keys down now. One that was down and up again within one look shows once, so that no tap is lost."""
        tapped = set()
        for key, down in self._handle.changes():
            (self._pressed.add if down else self._pressed.discard)(key)
            if down:
                tapped.add(key)
        return frozenset(self._pressed | tapped)

    def _open(self) -> str:
        """Why it could not be opened, empty if it was."""
        fitting = [found for found in self._kernel.devices() if self._fits(found)]
        if not fitting:
            return self._missing()
        if len(fitting) > 1:
            those = "; ".join(str(found) for found in fitting)
            return f"{len(fitting)} devices fit: {those}; say which one by phys or uniq in the mapping"
        try:
            handle = self._kernel.open(fitting[0].path)
            handle.grab()
            self._pressed = set(handle.held())
        except OSError as error:
            return f"{fitting[0]} cannot be taken: {error.strerror}"
        self._handle = handle
        self._say(f"{fitting[0]} is taken; its keys type nowhere else")
        return ""

    def _fits(self, found: Found) -> bool:
        keys = {button for _, button in self.map.uses()}
        return keys <= found.keys and all(
            fnmatchcase(getattr(found, mark), getattr(self.map, mark))
            for mark in ("name", "phys", "uniq")
            if getattr(self.map, mark)
        )

    def _missing(self) -> str:
        wanted = ", ".join(
            f"{mark} {getattr(self.map, mark)!r}" for mark in ("name", "phys", "uniq") if getattr(self.map, mark)
        )
        keys = ", ".join(sorted(str(button) for _, button in self.map.uses()))
        there = "; ".join(str(found) for found in self._kernel.devices()) or "none"
        closed = self._kernel.unreadable()
        more = f"; this user may not read {', '.join(closed)}: add it to the group input" if closed else ""
        return f"no device with {wanted} and the keys {keys}; there are: {there}{more}"

"""The kernel's input devices through the library evdev: needs no display, and /dev/input readable by this user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rlt_ros.operator.devices.keys_device import Found
from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.strict import ConfigError

try:
    import evdev
    from evdev import InputDevice, ecodes
except ImportError as error:
    raise ConfigError("evdev is missing: pip install 'rlt_ros[devices]', or apt install python3-evdev") from error

INPUT = Path("/dev/input")
_UP, _DOWN = 0, 1


def names_of(code: int) -> tuple[str, ...]:
    """The kernel's names of a key; some codes have several."""
    names = ecodes.bytype[ecodes.EV_KEY].get(code, ())
    return (names,) if isinstance(names, str) else tuple(names)


def known_key(name: str) -> bool:
    """Whether the kernel has a key of this name."""
    return name in ecodes.ecodes and name.startswith(("KEY_", "BTN_"))


def check_keys(where: str, device: DeviceMap) -> None:
    """Whether the kernel has every key of a mapping. Raises ConfigError with the use and the name."""
    for use, key in device.uses():
        if not known_key(str(key)):
            raise ConfigError(f"{where}: {use} is {key!r}; the kernel has no key of that name")


class EvdevHandle:
    """`keys_device.Handle` of an open device."""

    def __init__(self, device: InputDevice) -> None:
        self._device = device

    def grab(self) -> None:
        """Take it exclusively. Raises OSError, also where another process has it."""
        self._device.grab()

    def held(self) -> frozenset[str]:
        """Names of the keys that are down."""
        return frozenset(name for code in self._device.active_keys() for name in names_of(code))

    def changes(self) -> Iterator[tuple[str, bool]]:
        """Keys that went down or up; repetitions of a held key are none."""
        try:
            events = list(self._device.read())
        except BlockingIOError:
            return
        for event in events:
            if (event.type, event.code) == (ecodes.EV_SYN, ecodes.SYN_DROPPED):
                yield from self._all()  # the kernel has lost some: a release may be among them
            elif event.type == ecodes.EV_KEY and event.value in (_UP, _DOWN):
                yield from ((name, event.value == _DOWN) for name in names_of(event.code))

    def _all(self) -> Iterator[tuple[str, bool]]:
        held = self.held()
        yield from ((key, key in held) for key in sorted(found_of(self._device).keys))

    def close(self) -> None:
        """Give it back; the kernel ends the grab with it."""
        self._device.close()


def found_of(device: InputDevice) -> Found:
    """What an open device says of itself."""
    keys = device.capabilities().get(ecodes.EV_KEY, ())
    names = frozenset(name for code in keys for name in names_of(code))
    return Found(str(device.path), device.name, device.phys, device.uniq or "", names)


class EvdevKernel:
    """`keys_device.Kernel` of this machine."""

    def devices(self) -> list[Found]:
        """Devices that this user may open."""
        found = []
        for path in sorted(evdev.list_devices()):
            try:
                device = InputDevice(path)
            except OSError:
                continue  # unplugged in this moment
            found.append(found_of(device))
            device.close()
        return found

    def unreadable(self) -> list[str]:
        """Paths of devices that this user may not open."""
        return [str(path) for path in sorted(INPUT.glob("event*")) if not os.access(path, os.R_OK)]

    def open(self, path: str) -> EvdevHandle:
        """Open one. Raises OSError."""
        return EvdevHandle(InputDevice(path))

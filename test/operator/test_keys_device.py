"""Devices with keys: found by name, taken exclusively, read, unplugged, found again (field reports B39, B40).

The reader runs against a kernel that is played; `evdev_port` against the library itself, whose parser reads real
`input_event` structures out of a pipe; and all of it against the kernel where /dev/uinput lets it.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

import pytest

from rlt_ros.operator.devices.keys_device import AGAIN, Found, KeysDevice
from rlt_ros.operator.devices.mapping import DeviceMap
from rlt_ros.strict import ConfigError

PEDAL = DeviceMap(kind="evdev", name="*FootSwitch*", buttons={"begin": "KEY_A", "success": "KEY_B"})
KEYS = frozenset({"KEY_A", "KEY_B", "KEY_C"})


def foot(number: int, **marks: str) -> Found:
    given = {"phys": f"usb-{number}/input0", "uniq": "", "keys": KEYS, "name": "PCsensor FootSwitch Keyboard"} | marks
    return Found(f"/dev/input/event{number}", **given)


class PlayedHandle:
    def __init__(self, held: frozenset[str]) -> None:
        self.down, self.grabbed, self.closed = held, False, False
        self.waiting: list[tuple[str, bool]] = []
        self.gone = False

    def grab(self) -> None:
        self.grabbed = True

    def held(self) -> frozenset[str]:
        return self.down

    def changes(self) -> list[tuple[str, bool]]:
        if self.gone:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        waiting, self.waiting = self.waiting, []
        return waiting

    def close(self) -> None:
        self.closed = True


class PlayedKernel:
    def __init__(self, *there: Found) -> None:
        self.there, self.closed_to_us = list(there), []
        self.held: frozenset[str] = frozenset()
        self.handles: dict[str, PlayedHandle] = {}
        self.refuses: OSError | None = None

    def devices(self) -> list[Found]:
        return self.there

    def unreadable(self) -> list[str]:
        return self.closed_to_us

    def open(self, path: str) -> PlayedHandle:
        if self.refuses:
            raise self.refuses
        self.handles[path] = PlayedHandle(self.held)
        return self.handles[path]


def opened(kernel: PlayedKernel, device: DeviceMap = PEDAL) -> KeysDevice:
    made = KeysDevice("pedal", device, kernel, lambda text: None)
    made.read(0.0)
    return made


def test_the_device_of_that_name_is_taken_exclusively() -> None:
    told: list[str] = []
    kernel = PlayedKernel(Found("/dev/input/event1", "AT keyboard", "isa", "", KEYS), foot(3))
    device = KeysDevice("pedal", PEDAL, kernel, told.append)
    assert device.read(0.0).pressed == frozenset()
    assert list(kernel.handles) == ["/dev/input/event3"] and kernel.handles["/dev/input/event3"].grabbed
    assert told == ["'PCsensor FootSwitch Keyboard' (/dev/input/event3, phys usb-3/input0) is taken; "
                    "its keys type nowhere else"]  # fmt: skip
    device.close()
    assert kernel.handles["/dev/input/event3"].closed


def test_keys_are_pressed_while_they_are_down_and_a_tap_shows_once() -> None:
    kernel = PlayedKernel(foot(3))
    device = opened(kernel)
    handle = kernel.handles["/dev/input/event3"]
    handle.waiting = [("KEY_A", True)]
    assert device.read(0.1).pressed == {"KEY_A"}
    assert device.read(5.0).pressed == {"KEY_A"} and device.read(5.0).fresh(5.0), "the kernel would have told"
    handle.waiting = [("KEY_A", False), ("KEY_B", True), ("KEY_B", False)]
    assert device.read(5.1).pressed == {"KEY_B"}
    assert device.read(5.2).pressed == frozenset()


def test_a_key_that_is_down_when_the_device_is_opened_is_known() -> None:
    kernel = PlayedKernel(foot(3))
    kernel.held = frozenset({"KEY_A"})
    assert opened(kernel).read(0.1).pressed == {"KEY_A"}


def test_without_it_the_error_names_it_and_what_is_there() -> None:
    kernel = PlayedKernel(Found("/dev/input/event1", "AT keyboard", "", "", KEYS))
    kernel.closed_to_us = ["/dev/input/event7"]
    fault = opened(kernel).read(0.0).fault
    assert fault == (
        "no device with name '*FootSwitch*' and the keys KEY_A, KEY_B; there are: 'AT keyboard' (/dev/input/event1); "
        "this user may not read /dev/input/event7: add it to the group input"
    )
    assert opened(PlayedKernel()).read(0.0).fault.endswith("there are: none")


def test_one_of_that_name_without_the_keys_is_another() -> None:
    """A pedal shows itself as a keyboard and as a mouse of nearly the same name."""
    kernel = PlayedKernel(foot(2, keys=frozenset({"BTN_LEFT"})), foot(3))
    assert opened(kernel).read(0.0).fault == ""
    assert list(kernel.handles) == ["/dev/input/event3"]


def test_two_of_a_kind_are_refused_with_both_unless_one_is_chosen() -> None:
    kernel = PlayedKernel(foot(3), foot(4, uniq="77"))
    fault = opened(kernel).read(0.0).fault
    assert fault.startswith("2 devices fit: 'PCsensor FootSwitch Keyboard' (/dev/input/event3, phys usb-3/input0); ")
    assert "(/dev/input/event4, phys usb-4/input0, uniq 77); say which one by phys or uniq" in fault
    for choice in ({"phys": "usb-4/*"}, {"uniq": "77"}):
        chosen = DeviceMap(kind="evdev", name="*FootSwitch*", buttons={"begin": "KEY_A"}, **choice)
        assert opened(kernel, chosen).read(0.0).fault == ""
        assert kernel.handles.popitem()[0] == "/dev/input/event4"


def test_unplugged_is_said_and_it_is_found_again_by_itself() -> None:
    kernel = PlayedKernel(foot(3))
    device = opened(kernel)
    handle = kernel.handles["/dev/input/event3"]
    handle.gone, kernel.there = True, []
    assert device.read(1.0).fault == "unplugged (No such device)" and handle.closed
    assert device.read(1.1).fault == "unplugged (No such device)"
    assert "no device with name" in device.read(1.0 + AGAIN).fault
    kernel.there = [foot(9)]
    assert device.read(1.1 + AGAIN).fault, "looked for once a second"
    assert device.read(1.0 + 2 * AGAIN).fault == ""
    assert kernel.handles["/dev/input/event9"].grabbed


def test_a_device_that_somebody_else_has_taken_is_said_and_tried_again() -> None:
    kernel = PlayedKernel(foot(3))
    kernel.refuses = OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    device = opened(kernel)
    assert "(/dev/input/event3, phys usb-3/input0) cannot be taken: Device or resource busy" in device.read(0.0).fault
    kernel.refuses = None
    assert device.read(AGAIN).fault == ""


# the library

evdev = pytest.importorskip("evdev")
from evdev import InputDevice, ecodes  # noqa: E402

from rlt_ros.operator.devices import evdev_port  # noqa: E402

EVENT = struct.Struct("@llHHi")
"""struct input_event: time in s and us, type, code, value."""


class PipedDevice(InputDevice):
    """The library's device on the end of a pipe: no ioctl, but its own reading and parsing."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.path, self.name, self.phys, self.uniq = "/dev/input/event3", "pedal", "usb-3/input0", ""
        self.down: list[int] = []

    def active_keys(self) -> list[int]:
        return self.down

    def capabilities(self) -> dict[int, list[int]]:
        return {ecodes.EV_KEY: [ecodes.KEY_A, ecodes.BTN_SOUTH], ecodes.EV_MSC: [ecodes.MSC_SCAN]}


@pytest.fixture()
def pipe() -> Iterator[tuple[evdev_port.EvdevHandle, int]]:
    ours, theirs = os.pipe()
    handle = evdev_port.EvdevHandle(PipedDevice(ours))
    yield handle, theirs
    handle.close()


def event(kind: int, code: int, value: int) -> bytes:
    return EVENT.pack(1_700_000_000, 250_000, kind, code, value)


def test_the_library_s_events_become_keys_that_go_down_and_up(pipe) -> None:
    handle, theirs = pipe
    assert list(handle.changes()) == []
    sync = event(ecodes.EV_SYN, ecodes.SYN_REPORT, 0)
    os.write(theirs, event(ecodes.EV_MSC, ecodes.MSC_SCAN, 458756) + event(ecodes.EV_KEY, ecodes.KEY_A, 1) + sync)
    os.write(theirs, event(ecodes.EV_KEY, ecodes.KEY_A, 2) + sync)
    assert list(handle.changes()) == [("KEY_A", True)], "a repetition is no press"
    os.write(theirs, event(ecodes.EV_KEY, ecodes.KEY_A, 0) + sync)
    assert list(handle.changes()) == [("KEY_A", False)]


def test_what_the_kernel_has_lost_is_asked_for(pipe) -> None:
    """A release among the lost events would leave a deadman pressed."""
    handle, theirs = pipe
    os.write(theirs, event(ecodes.EV_SYN, ecodes.SYN_DROPPED, 0))
    assert ("KEY_A", False) in list(handle.changes())
    handle._device.down = [ecodes.KEY_A]
    os.write(theirs, event(ecodes.EV_SYN, ecodes.SYN_DROPPED, 0))
    assert ("KEY_A", True) in list(handle.changes())


def test_a_key_with_several_names_is_known_by_each(pipe) -> None:
    handle, theirs = pipe
    os.write(theirs, event(ecodes.EV_KEY, ecodes.BTN_SOUTH, 1))
    assert {("BTN_SOUTH", True), ("BTN_A", True)} <= set(handle.changes())


def test_what_a_device_says_of_itself() -> None:
    ours, theirs = os.pipe()
    device = PipedDevice(ours)
    found = evdev_port.found_of(device)
    assert (found.path, found.name, found.phys) == ("/dev/input/event3", "pedal", "usb-3/input0")
    assert {"KEY_A", "BTN_SOUTH", "BTN_A"} <= found.keys
    device.close()
    os.close(theirs)


def test_a_reader_over_the_library_s_parser(pipe) -> None:
    handle, theirs = pipe
    handle.grab = lambda: None  # an ioctl
    kernel = PlayedKernel(foot(3))
    kernel.open = lambda path: handle
    device = opened(kernel)
    os.write(theirs, event(ecodes.EV_KEY, ecodes.KEY_A, 1))
    assert device.read(0.1).pressed == {"KEY_A"}


def test_a_key_that_the_kernel_does_not_have_is_refused() -> None:
    evdev_port.check_keys("pedal", PEDAL)
    with pytest.raises(ConfigError, match="pedal: begin is 'KEY_PEDAL'; the kernel has no key of that name"):
        evdev_port.check_keys("pedal", DeviceMap(kind="evdev", name="x", buttons={"begin": "KEY_PEDAL"}))


def test_this_machine_s_devices_can_be_listed() -> None:
    kernel = evdev_port.EvdevKernel()
    assert all(found.path.startswith("/dev/input/") for found in kernel.devices())
    assert isinstance(kernel.unreadable(), list)


# the kernel


@pytest.fixture()
def virtual() -> Iterator[evdev.UInput]:
    try:
        device = evdev.UInput({ecodes.EV_KEY: [ecodes.KEY_A, ecodes.KEY_B]}, name="rlt test FootSwitch")
    except (OSError, evdev.uinput.UInputError) as error:
        pytest.skip(f"no virtual input device can be made here: {error}")
    yield device
    device.close()


def test_a_device_of_the_kernel_is_found_taken_read_and_lost(virtual: evdev.UInput) -> None:
    device = KeysDevice("pedal", PEDAL, evdev_port.EvdevKernel(), lambda text: None)
    assert device.read(0.0).fault == ""
    other = InputDevice(virtual.device.path)
    virtual.write(ecodes.EV_KEY, ecodes.KEY_A, 1)
    virtual.syn()
    assert device.read(0.1).pressed == {"KEY_A"}
    with pytest.raises(BlockingIOError):
        next(other.read())  # taken exclusively: nobody else hears it
    virtual.close()
    assert device.read(0.2).fault == "unplugged (No such device)"

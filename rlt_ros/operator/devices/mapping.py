"""What each axis and button of a device means: one YAML file a device, checked before anything moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlt_ros.operator.keys import REQUESTS
from rlt_ros.operator.said_once import TypedLoader, read_once
from rlt_ros.strict import ConfigError, build
from rlt_ros.types import ACTION_NAMES, GRIPPER

JOY, SPACENAV, EVDEV = "joy", "spacenav", "evdev"
KINDS: Mapping[str, tuple[str, ...]] = {JOY: ("topic",), SPACENAV: ("twist", "joy"), EVDEV: ("name", "phys", "uniq")}
"""Kind of device -> the keys that say which one it is."""
FRAMES = ("base", "tool", "camera")
DIRECTIONS = ACTION_NAMES[:GRIPPER]
"""What an axis can move: dx dy dz (translation), rx ry rz (rotation)."""
TWIST_AXES = ("linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z")
STEEPEST = 5.0

Button = int | str
"""Number of a button of sensor_msgs/Joy, or the kernel's name of a key, such as KEY_A."""


@dataclass(frozen=True)
class AxisMap:
    """One axis. axis: index in sensor_msgs/Joy, or one of TWIST_AXES. scale: share of the largest step of the action
    space at full deflection; negative turns it round. full: value that the device gives at full deflection.
    """

    axis: int | str
    scale: float = 1.0
    full: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < abs(self.scale) <= 1.0:
            raise ValueError(f"scale is {self.scale}; expected -1 to 1 and not 0: 1 is the action space's largest step")
        if not 0.0 < self.full < float("inf"):
            raise ValueError(f"full is {self.full}; expected a positive number")


@dataclass(frozen=True)
class GripperMap:
    """Buttons of the gripper: `close` and `open`, one that does what was not done last, or none."""

    close: Button | None = None
    open: Button | None = None
    toggle: Button | None = None

    def __post_init__(self) -> None:
        if set(self.given) not in (set(), {"toggle"}, {"close", "open"}):
            raise ValueError(f"gripper has {', '.join(self.given)}; expected close and open, or toggle")

    @property
    def given(self) -> dict[str, Button]:
        """Use -> button, of those that there are."""
        return {n: getattr(self, n) for n in ("close", "open", "toggle") if getattr(self, n) is not None}


@dataclass(frozen=True)
class DeviceMap:
    """One device. Which one it is: `topic` (joy), `twist` and `joy` (spacenav), `name`, `phys`, `uniq` (evdev; `*`
    stands for any text). frame: along which axes its own move the tool; camera: with frame `camera`, its name in
    `camera_mounts` of the robot config. deadman: held, the person drives. dead_zone: share of the full deflection that
    counts as none. curve: exponent of the rest, 1 is straight. buttons: action, as in the keys file, to its button.
    """

    kind: str
    topic: str = ""
    twist: str = ""
    joy: str = ""
    name: str = ""
    phys: str = ""
    uniq: str = ""
    frame: str = "base"
    camera: str = ""
    deadman: Button | None = None
    dead_zone: float = 0.1
    curve: float = 2.0
    axes: dict[str, AxisMap] = field(default_factory=dict)
    gripper: GripperMap = GripperMap()
    buttons: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, tuple(KINDS))
        _one_of("frame", self.frame, FRAMES)
        for name in self.axes:
            _one_of("axes", name, DIRECTIONS)
        for action in self.buttons:
            _one_of("buttons", action, tuple(REQUESTS))
        if not 0.0 <= self.dead_zone < 1.0:
            raise ValueError(f"dead_zone is {self.dead_zone}; expected 0 or more and less than 1")
        if not 1.0 <= self.curve <= STEEPEST:
            raise ValueError(f"curve is {self.curve}; expected 1 to {STEEPEST:g}")
        if bool(self.camera) != (self.frame == "camera"):
            raise ValueError(f"camera is {self.camera!r} and frame is {self.frame!r}; expected both or neither")
        self._check_place()
        self._check_inputs()

    def uses(self) -> Iterator[tuple[str, Button]]:
        """Every use of a button, and the button."""
        if self.deadman is not None:
            yield "deadman", self.deadman
        yield from ((f"gripper {use}", button) for use, button in self.gripper.given.items())
        yield from self.buttons.items()

    def _check_place(self) -> None:
        for kind, names in KINDS.items():
            for name in names:
                if kind != self.kind and getattr(self, name):
                    raise ValueError(
                        f"{name} is {getattr(self, name)!r}, which is for kind {kind}; kind is {self.kind}"
                    )
        if not getattr(self, KINDS[self.kind][0]) or (self.kind == SPACENAV and not self.joy):
            raise ValueError(f"kind is {self.kind}, {' or '.join(KINDS[self.kind])} is missing")

    def _check_inputs(self) -> None:
        owners: dict[Button, str] = {}
        for use, button in self.uses():
            _check_button(self.kind, use, button)
            if button in owners:
                raise ValueError(f"button {button!r} is that of {owners[button]} and of {use}")
            owners[button] = use
        moved: dict[int | str, str] = {}
        for direction, axis in self.axes.items():
            _check_axis(self.kind, direction, axis.axis)
            if axis.axis in moved:
                raise ValueError(f"axis {axis.axis!r} is that of {moved[axis.axis]} and of {direction}")
            moved[axis.axis] = direction


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} has {value!r}; expected one of {', '.join(known)}")


def _check_button(kind: str, use: str, button: Any) -> None:
    number = isinstance(button, int) and not isinstance(button, bool) and button >= 0
    if kind == EVDEV and not (isinstance(button, str) and button.startswith(("KEY_", "BTN_"))):
        raise ValueError(f"{use} is {button!r}; expected the kernel's name of a key, such as KEY_A")
    if kind != EVDEV and not number:
        raise ValueError(f"{use} is {button!r}; expected the number of a button, from 0")


def _check_axis(kind: str, direction: str, axis: Any) -> None:
    if kind == EVDEV:
        raise ValueError(f"{direction} is axis {axis!r}; a device of kind {EVDEV} has keys alone")
    if kind == SPACENAV and axis not in TWIST_AXES:
        raise ValueError(f"{direction} is axis {axis!r}; expected one of {', '.join(TWIST_AXES)}")
    if kind == JOY and (not isinstance(axis, int) or isinstance(axis, bool) or axis < 0):
        raise ValueError(f"{direction} is axis {axis!r}; expected the number of an axis, from 0")


def load_device(path: Path) -> DeviceMap:
    """The mapping in a file. Raises ConfigError naming the file, the key and the values."""
    return build(DeviceMap, read_once(path, TypedLoader, "a device's axes and buttons"), str(path))


def find_device(name: str, presets: Path) -> Path:
    """The file behind a preset's name or a path. Raises ConfigError naming the presets."""
    preset = presets / f"{name}.yaml"
    if Path(name).name == name and preset.is_file() and not Path(name).exists():
        return preset
    if not Path(name).is_file():
        known = ", ".join(sorted(file.stem for file in presets.glob("*.yaml")))
        raise ConfigError(f"device {name}: no such file; presets are {known}")
    return Path(name)


def load_devices(names: list[str], presets: Path) -> dict[str, DeviceMap]:
    """Name of each device -> its mapping. Raises ConfigError, also where two of them contradict each other."""
    files = [find_device(name, presets) for name in names]
    twice = {file.stem for file in files if [other.stem for other in files].count(file.stem) > 1}
    if twice:
        raise ConfigError(f"devices: two are called {', '.join(sorted(twice))}; give one of the files another name")
    devices = {file.stem: load_device(file) for file in files}
    check_together(devices)
    return devices


def check_together(devices: Mapping[str, DeviceMap]) -> None:
    """Whether devices can be used together: one deadman, one device for each direction. Raises ConfigError."""
    owners: dict[str, str] = {}
    for name, device in devices.items():
        places = [getattr(device, key) for key in KINDS[device.kind] if device.kind != EVDEV]
        uses = [*device.axes, *places, *(["the gripper"] if device.gripper.given else [])]
        for use in [*uses, *(["the deadman"] if device.deadman is not None else [])]:
            if use in owners:
                raise ConfigError(f"devices: {use} is that of {owners[use]} and of {name}")
            owners[use] = name
    moving = [name for name, device in devices.items() if device.axes or device.gripper.given]
    if moving and "the deadman" not in owners:
        raise ConfigError(f"devices: {', '.join(moving)} can move the arm, and there is no deadman in it; expected one")
    if "the deadman" in owners and not moving:
        raise ConfigError(f"devices: {owners['the deadman']} has a deadman, and nothing moves the arm; expected axes")

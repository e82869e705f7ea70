"""Mapping files: what ships can be used, what contradicts itself is refused with file, key and both values."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from device_parts import PAD

from rlt_ros.operator.devices.mapping import check_together, find_device, load_device, load_devices
from rlt_ros.strict import ConfigError

PRESETS = Path(__file__).parents[2] / "config" / "operator" / "devices"
PEDAL = {"kind": "evdev", "name": "*Foot*"}


@pytest.mark.parametrize("preset", sorted(file.stem for file in PRESETS.glob("*.yaml")))
def test_every_preset_is_a_device(preset: str) -> None:
    device = load_device(find_device(preset, PRESETS))
    assert device.deadman is not None or not device.axes


@pytest.mark.parametrize("names", [["gamepad"], ["gamepad_xbox", "pedal"], ["gamepad_ps"], ["spacemouse", "pedal"]])
def test_presets_that_go_together(names: list[str]) -> None:
    assert list(load_devices(names, PRESETS)) == names


def test_a_name_that_is_neither_preset_nor_file_is_refused_with_the_presets() -> None:
    with pytest.raises(ConfigError, match=r"device joystick: no such file; presets are gamepad, gamepad_ps"):
        load_devices(["joystick"], PRESETS)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(PAD))
    assert load_devices([str(path)], PRESETS)["mine"].axes["rz"].scale == 0.5


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"kind": "midi"}, "kind has 'midi'; expected one of joy, spacenav, evdev"),
        ({"colour": 1}, "unknown key 'colour'; known are kind, topic"),
        ({"axes": {"up": {"axis": 1}}}, "axes has 'up'; expected one of dx, dy, dz, rx, ry, rz"),
        ({"buttons": {"fly": 1}}, "buttons has 'fly'; expected one of stop, begin, success"),
        ({"buttons": {"begin": 4}}, "button 4 is that of deadman and of begin"),
        ({"buttons": {"begin": 5}}, "button 5 is that of gripper toggle and of begin"),
        ({"axes": {"dx": {"axis": 1}, "dz": {"axis": 1}}}, "axis 1 is that of dx and of dz"),
        ({"axes": {"dx": {"axis": 1, "scale": 1.5}}}, r"axes.dx: scale is 1.5; expected -1 to 1 and not 0"),
        ({"axes": {"dx": {"axis": 1, "scale": 0}}}, r"scale is 0.0; expected -1 to 1 and not 0"),
        ({"axes": {"dx": {"axis": 1, "scale": float("nan")}}}, r"scale is nan; expected -1 to 1"),
        ({"axes": {"dx": {"axis": 1, "full": 0}}}, "full is 0.0; expected a positive number"),
        ({"axes": {"dx": {"axis": "linear.x"}}}, "dx is axis 'linear.x'; expected the number of an axis"),
        ({"axes": {"dx": {"axis": -1}}}, "dx is axis -1; expected the number of an axis"),
        ({"axes": {"dx": {"axis": True}}}, "axes.dx.axis: expected int or str, found True"),
        ({"dead_zone": 1.0}, "dead_zone is 1.0; expected 0 or more and less than 1"),
        ({"curve": 0.5}, "curve is 0.5; expected 1 to 5"),
        ({"frame": "world"}, "frame has 'world'; expected one of base, tool, camera"),
        ({"frame": "camera"}, "camera is '' and frame is 'camera'; expected both or neither"),
        ({"camera": "front"}, "camera is 'front' and frame is 'base'; expected both or neither"),
        ({"deadman": "KEY_A"}, "deadman is 'KEY_A'; expected the number of a button"),
        ({"deadman": 1.5}, "deadman: expected int or str, found 1.5"),
        ({"gripper": {"close": 1}}, "gripper has close; expected close and open, or toggle"),
        ({"gripper": {"toggle": 1, "open": 2, "close": 6}}, "expected close and open, or toggle"),
        ({"topic": ""}, "kind is joy, topic is missing"),
        ({"name": "x"}, "name is 'x', which is for kind evdev; kind is joy"),
        ({"kind": "spacenav", "topic": "", "twist": "/t", "joy": "/j"}, "dx is axis 1; expected one of linear.x"),
        ({"kind": "spacenav", "topic": "", "twist": "/t"}, "kind is spacenav, twist or joy is missing"),
        ({"kind": "evdev", "topic": "", "name": "x"}, "deadman is 4; expected the kernel's name of a key"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_file(tmp_path: Path, changes: dict, words: str) -> None:
    path = tmp_path / "pad.yaml"
    path.write_text(yaml.safe_dump(PAD | changes))
    with pytest.raises(ConfigError, match=words) as caught:
        load_device(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text, words",
    [
        ("kind: joy\nkind: evdev\n", "'kind' stands in it twice, again in line 2"),
        ("buttons: {begin: 1, begin: 2}\n", "'begin' stands in it twice"),
        ("- joy\n", "expected a mapping of a device's axes and buttons, found list"),
        ("kind: [\n", "not YAML"),
        ("topic: /joy\n", "missing key 'kind'"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "pad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_device(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_device(tmp_path / "none.yaml")


def made(tmp_path: Path, **files: dict) -> list[str]:
    for name, values in files.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values))
    return [str(tmp_path / f"{name}.yaml") for name in files]


@pytest.mark.parametrize(
    "second, words",
    [
        (PAD | {"topic": "/joy2"}, "dx is that of one and of two"),
        ({"kind": "joy", "topic": "/joy"}, "/joy is that of one and of two"),
        (PEDAL | {"deadman": "KEY_A"}, "the deadman is that of one and of two"),
    ],
)
def test_two_devices_for_one_thing_are_refused_with_both_names(tmp_path: Path, second: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=f"devices: {words}"):
        load_devices(made(tmp_path, one=PAD, two=second), PRESETS)


def test_what_moves_the_arm_needs_a_deadman_and_a_deadman_something_to_move(tmp_path: Path) -> None:
    bare = {k: v for k, v in PAD.items() if k != "deadman"}
    with pytest.raises(ConfigError, match="devices: one can move the arm, and there is no deadman in it"):
        load_devices(made(tmp_path, one=bare), PRESETS)
    with pytest.raises(ConfigError, match="devices: foot has a deadman, and nothing moves the arm"):
        load_devices(made(tmp_path, foot=PEDAL | {"deadman": "KEY_A"}), PRESETS)
    pair = load_devices(made(tmp_path, one=bare, foot=PEDAL | {"deadman": "KEY_A"}), PRESETS)
    assert list(pair) == ["one", "foot"]


def test_the_same_device_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two are called gamepad"):
        load_devices(["gamepad", "gamepad"], PRESETS)


def test_a_set_without_axes_needs_no_deadman(tmp_path: Path) -> None:
    check_together(load_devices(made(tmp_path, foot=PEDAL | {"buttons": {"begin": "KEY_A"}}), PRESETS))

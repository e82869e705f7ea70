"""Our interfaces are documented and compiled; the vendored ones are those of the originals on the wire."""

from __future__ import annotations

import array
import json
import re
import sys
from pathlib import Path

import pytest
from manifest import ROOT, VENDORED

HASHES: dict[str, str] = json.loads(Path(__file__).with_name("wire_hashes.json").read_text())
"""RIHS01 type hashes of the originals, computed with rosidl_generator_type_description from franka_ros2 jazzy 3.4.0,
control_msgs master 13dacdd8, ros2_control kilted, geometry2 1b005c65 and moveit_msgs ros2 ec3ba4bf."""

DEFINITIONS = sorted([*ROOT.glob("msg/*.msg"), *ROOT.glob("srv/*.srv")])
FIELD = re.compile(r"^(?P<type>[\w/]+)(?P<array>\[\d*\])? +(?P<name>[a-z]\w*) *(# (?P<comment>.+))?$")
CONSTANT = re.compile(r"^u?int\d+ [A-Z]\w*=-?\d+$")
DIMENSIONLESS = {"critic_loss", "actor_loss"}
"""Floats that say what they are by name and have no unit."""


def fields(path: Path) -> list[re.Match[str]]:
    """Field lines of a definition. Fails on a line that is neither comment, constant, separator nor field."""
    found = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#") or line == "---" or CONSTANT.match(line) or re.match(r"^ +# ", line):
            continue
        match = FIELD.match(line)
        assert match, f"{path.name}: {line!r}"
        found.append(match)
    return found


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda p: p.name)
def test_definition_opens_with_what_it_is(path: Path) -> None:
    assert path.read_text().startswith("# ")
    assert fields(path)


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda p: p.name)
def test_numbers_have_a_comment(path: Path) -> None:
    numbers = [m for m in fields(path) if re.match(r"(float|double)", m["type"]) or m["array"]]
    bare = [m["name"] for m in numbers if m["comment"] is None and m["name"] not in DIMENSIONLESS]
    assert bare == [], f"{path.name}: no unit, shape or range beside {bare}"


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda p: p.name)
def test_no_bounded_sequences(path: Path) -> None:
    # PlotJuggler crashes on them (franka_ros.md F 42).
    assert "<=" not in path.read_text()


@pytest.mark.parametrize("path", [p for p in DEFINITIONS if p.suffix == ".msg"], ids=lambda p: p.name)
def test_message_starts_with_its_header(path: Path) -> None:
    assert fields(path)[0]["type"] == "std_msgs/Header"


@pytest.mark.parametrize("package", VENDORED)
def test_vendored_package_holds_what_is_recorded(package: str) -> None:
    folder = ROOT / "standalone" / "interfaces" / package
    definitions = [path for kind in ("msg", "srv", "action") for path in folder.glob(f"{kind}/*.{kind}")]
    files = {f"{package}/{path.parent.name}/{path.stem}" for path in definitions}
    assert files == {name for name in HASHES if name.startswith(f"{package}/")}


@pytest.mark.parametrize("name", HASHES)
def test_vendored_interface_has_the_original_type_hash(name: str) -> None:
    package, kind, interface = name.split("/")
    path = Path(sys.prefix) / "share" / package / kind / f"{interface}.json"
    if not path.exists():
        pytest.skip(f"{package} is not compiled into this environment")
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(path.read_text())["type_hashes"]}
    assert hashes[name] == HASHES[name]


def test_compiled_messages_are_those_of_the_checkout() -> None:
    messages = pytest.importorskip("rlt_ros.msg")
    for path in (p for p in DEFINITIONS if p.suffix == ".msg"):
        compiled = list(getattr(messages, path.stem).get_fields_and_field_types())
        assert compiled == [match["name"] for match in fields(path)], f"{path.name}: run `make env`"


def test_an_array_survives_serialisation() -> None:
    serialization = pytest.importorskip("rclpy.serialization")
    from rlt_ros.msg import Features, Transition

    row = Transition(id=7, actions=array.array("f", [0.5, -1.0]), features=[Features(z_rl=array.array("f", [1.5]))])
    back = serialization.deserialize_message(serialization.serialize_message(row), Transition)
    assert back == row

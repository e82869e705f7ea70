"""package.xml, setup.py, LICENSE, requirements and the list of entry points say the same."""

from __future__ import annotations

import ast
import re

import pytest
from manifest import PACKAGE, ROOT, VENDORED, entry_points, package_xml

import rlt_ros


def test_version_is_the_same_everywhere() -> None:
    assert package_xml().findtext("version") == rlt_ros.__version__


def test_licence_is_apache_everywhere() -> None:
    assert package_xml().findtext("license") == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_setup_takes_version_and_licence_from_package_xml() -> None:
    keywords = {k.arg: ast.unparse(k.value) for k in _setup_call().keywords}
    for name in ("name", "version", "license"):
        assert keywords[name] == f"MANIFEST.findtext('{name}')"


def test_franka_messages_are_optional() -> None:
    names = {element.text for element in package_xml().iter() if element.tag.endswith("depend")}
    assert "franka_msgs" not in names
    assert {"rclpy", "sensor_msgs", "launch_ros", "python3-numpy"} <= names


def test_launch_and_maintainer_are_accepted_by_catkin_pkg() -> None:
    package = pytest.importorskip("catkin_pkg.package")
    for folder in (ROOT, *(ROOT / "standalone" / "interfaces" / name for name in VENDORED)):
        package.parse_package(str(folder)).validate()


@pytest.mark.parametrize(("name", "target"), entry_points().items())
def test_entry_point_names_a_function(name: str, target: str) -> None:
    module, function = target.split(":")
    source = ROOT / (module.replace(".", "/") + ".py")
    assert source.exists(), f"{name}: {module} is not in the checkout"
    defined = {node.name for node in ast.parse(source.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert function in defined


def test_every_requirement_of_the_environment_is_pinned() -> None:
    lines = (ROOT / "standalone" / "requirements.txt").read_text().splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    assert requirements
    assert [line for line in requirements if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.+]*", line)] == []


def test_yaml_lies_where_the_wheel_takes_it() -> None:
    assert list(PACKAGE.rglob("*.yaml"))
    assert not list(PACKAGE.rglob("*.yml"))


def _setup_call() -> ast.Call:
    tree = ast.parse((ROOT / "setup.py").read_text())
    return next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "setup")

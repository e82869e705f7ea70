"""pip's way: the wheel holds the ROS-free code with its data and a console script per executable."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from manifest import PACKAGE, ROOT, copy_sources, entry_points


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The built wheel. It is built from a copy: setuptools leaves folders in its sources."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    done = subprocess.run([*command, copy_sources(folder / "src")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_wheel_has_all_modules_and_data(wheel: zipfile.ZipFile) -> None:
    patterns = ("*.py", "*.yaml", "*.html", "static/*")
    wanted = {str(path.relative_to(ROOT)) for pattern in patterns for path in PACKAGE.rglob(pattern)}
    assert {name for name in wheel.namelist() if name.startswith("rlt_ros/")} == wanted


def test_wheel_has_a_script_per_entry_point(wheel: zipfile.ZipFile) -> None:
    parser = configparser.ConfigParser()
    parser.read_string(_metadata(wheel, "entry_points.txt"))
    scripts = dict(parser["console_scripts"])
    others = {f"rlt-{name}": target for name, target in entry_points().items() if name != "rlt"}
    assert scripts == others | {"rlt": entry_points()["rlt"]}


def test_wheel_names_licence_and_extras(wheel: zipfile.ZipFile) -> None:
    metadata = _metadata(wheel, "METADATA")
    assert "License: Apache-2.0" in metadata
    extras = "learn sim data bags plots report viewer lerobot remote vision gpus console panel test"
    for extra in extras.split():
        assert f"Provides-Extra: {extra}" in metadata
    assert any(Path(name).name == "LICENSE" for name in wheel.namelist())


def _metadata(wheel: zipfile.ZipFile, name: str) -> str:
    return wheel.read(next(n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))).decode()

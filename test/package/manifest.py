"""What the files at the root of the checkout say, for the tests beside this one."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rlt_ros"
VENDORED = ("franka_msgs", "control_msgs", "controller_manager_msgs", "tf2_msgs", "moveit_msgs")
_NOT_SOURCES = (".venv", ".git", "runs", "build", "install", "log", "__pycache__", ".*cache*", "*.egg-info")


def package_xml(folder: Path = ROOT) -> ElementTree.Element:
    """Root element of a package.xml."""
    return ElementTree.parse(folder / "package.xml").getroot()


def entry_points() -> dict[str, str]:
    """The one list, read as setup.py and CMake read it."""
    return runpy.run_path(str(PACKAGE / "entry_points.py"))["ENTRY_POINTS"]


def copy_sources(target: Path) -> Path:
    """A copy of the checkout without anything built in it."""
    return Path(shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*_NOT_SOURCES)))

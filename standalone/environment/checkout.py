"""Joins the checkout to the environment: Python code, executables, launch files and configuration are used in place."""

from __future__ import annotations

import os
import runpy
import shlex
from pathlib import Path

from activation import script, write
from layout import Layout

_EXECUTABLE_MODE = 0o755


def join(layout: Layout) -> None:
    """Write the path file, the activation script and the links. Costs nothing when they are there."""
    path = [layout.root, layout.generated, layout.standalone / "ros2_standin"]
    write(layout.site_packages() / "rlt_ros_checkout.pth", "".join(f"{folder}\n" for folder in path))
    write(layout.venv / "ros.sh", script(layout))
    ros2 = shlex.quote(str(layout.standalone / "ros2_standin" / "bin" / "ros2"))
    for name, program in (("ros2", ros2), ("rlt", "-m rlt_ros")):
        write(layout.venv / "bin" / name, _command(layout, program), _EXECUTABLE_MODE)
    for folder in ("launch", "config"):
        _link(layout.venv / "share" / "rlt_ros" / folder, layout.root / folder)
    _link_executables(layout)


def _link_executables(layout: Layout) -> None:
    names = set(runpy.run_path(str(layout.root / "rlt_ros" / "entry_points.py"))["ENTRY_POINTS"])
    folder = layout.venv / "lib" / "rlt_ros"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _link(folder / name, layout.root / "scripts" / "executable")
    for other in set(os.listdir(folder)) - names:
        (folder / other).unlink()


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _command(layout: Layout, program: str) -> str:
    activate = shlex.quote(str(layout.venv / "ros.sh"))
    return f'#!/bin/sh\n. {activate}\nexec python3 {program} "$@"\n'

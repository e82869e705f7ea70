"""What the machine itself must bring: Python 3.11 on x86-64, a compiler, software OpenGL."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from process import run

PYTHON = (3, 11)
"""The ROS wheels exist for this version only."""

TOOLS = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}
"""Program to the Debian package that brings it."""

LIBRARIES = ("libegl1", "libegl-mesa0", "libgl1", "libgl1-mesa-dri", "libopengl0")
"""Debian packages of OpenGL in software: MuJoCo renders the cameras through EGL."""


BROWSER = "chromium"
"""Program and Debian package: what the tests of the operator's panel open it with."""


class MachineError(RuntimeError):
    """The machine cannot hold the environment; says what to do."""


def check_platform() -> None:
    """Raise where no ROS wheels exist for this Python or this machine."""
    if sys.version_info[:2] != PYTHON:
        found = platform.python_version()
        raise MachineError(f"Python {PYTHON[0]}.{PYTHON[1]} is needed, this is {found}: make env PYTHON=python3.11")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} on {platform.machine()}"
        raise MachineError(f"the ROS wheels are built for Linux on x86-64, this is {here}")


def missing_packages() -> list[str]:
    """Debian packages that this machine lacks; empty where it is not a Debian system (then nothing can be said)."""
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append(f"python{PYTHON[0]}.{PYTHON[1]}-venv")
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        missing.append(f"python{PYTHON[0]}.{PYTHON[1]}-dev")
    if shutil.which("dpkg-query") is not None:
        missing += _not_installed(LIBRARIES)
    return missing


def browser_is_due() -> bool:
    """Whether the browser is missing and can be installed here."""
    return shutil.which(BROWSER) is None and shutil.which("apt-get") is not None and os.geteuid() == 0


def install_packages(packages: list[str], log: Path) -> None:
    """Install Debian packages. Raises MachineError with the command to type where this is not root on Debian."""
    by_hand = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        raise MachineError(f"missing on this machine (names of the Debian packages): {' '.join(packages)}")
    if os.geteuid() != 0:
        raise MachineError(f"missing on this machine; run as root, then try again: {by_hand}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update"], log, env=env)
    run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], log, env=env)


def _not_installed(packages: tuple[str, ...]) -> list[str]:
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *packages],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    installed = {line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]

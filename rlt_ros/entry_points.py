"""The executables of the package: the one list behind `ros2 run`, the launch files' `executable=` and pip's console scripts."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

ENTRY_POINTS = {
    "observation": "rlt_ros.nodes.observation:main",
    "features": "rlt_ros.nodes.features:main",
    "actor": "rlt_ros.nodes.actor:main",
    "executor": "rlt_ros.nodes.executor:main",
    "teleop": "rlt_ros.nodes.teleop:main",
    "learner": "rlt_ros.nodes.learner:main",
    "sim": "rlt_ros.nodes.sim:main",
    "stage1": "rlt_ros.token.stage1_cli:main",
}
"""Executable name to "module:function". setup.py and CMakeLists.txt read it from this file without importing rlt_ros."""


def run(name: str) -> int | None:
    """Import the executable's module and call its function. Raises KeyError for a name that is not listed."""
    module, function = ENTRY_POINTS[name].split(":")
    return getattr(import_module(module), function)()


def main() -> int | None:
    """Entry of every file in lib/rlt_ros: the file's name says which executable it is."""
    return run(Path(sys.argv[0]).name)

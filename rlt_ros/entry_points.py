"""The executables of the package: the one list behind `ros2 run`, launch files and pip's console scripts."""

from __future__ import annotations

import os
import signal
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
    "collector": "rlt_ros.nodes.collector:main",
    "collect_teleop": "rlt_ros.nodes.collect_teleop:main",
    "markers": "rlt_ros.nodes.markers:main",
    "viewer": "rlt_ros.nodes.viewer:main",
    "referee": "rlt_ros.nodes.referee:main",
    "deploy_teleop": "rlt_ros.nodes.deploy_teleop:main",
    "console": "rlt_ros.nodes.console:main",
    "input_devices": "rlt_ros.nodes.input_devices:main",
    "panel": "rlt_ros.nodes.panel:main",
    "replay": "rlt_ros.nodes.replay:main",
    "record": "rlt_ros.data.bags.record_cli:main",
    "stage1": "rlt_ros.token.stage1_cli:main",
    "rlt": "rlt_ros.cli:main",
}
"""Executable to "module:function". setup.py and CMakeLists.txt read this file without importing rlt_ros."""


def console_script(name: str) -> str:
    """Name of an executable on the PATH: `rlt` itself, `rlt-actor` for the actor."""
    return name if name == "rlt" else f"rlt-{name}"


def run(name: str) -> int | None:
    """Import the executable's module and call its function. Raises KeyError for a name that is not listed."""
    module, function = ENTRY_POINTS[name].split(":")
    if module.startswith("rlt_ros.nodes."):
        _leave_quietly_while_loading()
    return getattr(import_module(module), function)()


def _leave_quietly_while_loading() -> None:
    # A node loads for seconds; a Ctrl-C in that time ends it without a traceback. `nodes.runtime.run` takes over.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def main() -> int | None:
    """Entry of every file in lib/rlt_ros: the file's name says which executable it is."""
    return run(Path(sys.argv[0]).name)

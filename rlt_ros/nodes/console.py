"""The operator's view in a terminal of its own: `ros2 run rlt_ros console --ros-args -r __ns:=/rlt`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import rclpy
from ament_index_python.packages import get_package_share_directory
from rclpy.signals import SignalHandlerOptions

from rlt_ros.nodes.operator_client import RosClient
from rlt_ros.nodes.parameters import declare
from rlt_ros.operator.keys import load_keys
from rlt_ros.operator.terminal import NoTerminal, borrowed, check_terminal, close_on_signal

PRESET = Path("config", "operator", "keys.yaml")


def main() -> None:
    """Entry point. Exit code 2: there is no terminal, no Textual or no usable keys file."""
    try:
        check_terminal()
        from rlt_ros.operator.app import ConsoleApp
    except NoTerminal as error:
        _refuse(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "textual":
            raise
        _refuse("Textual is missing: pip install 'rlt_ros[console]'")
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("console")
    try:
        preset = Path(get_package_share_directory("rlt_ros")) / PRESET
        keys = load_keys(
            Path(declare(node, "keys", "", "Keys file (YAML); empty: config/operator/keys.yaml.") or preset)
        )
        tests = declare(node, "key_test", True, "Begin with the key test.")
    except ValueError as error:
        _refuse(str(error))
    client = RosClient(node)
    app = ConsoleApp(client, keys, tests_keys=tests)
    with borrowed():
        close_on_signal(app.leave)
        app.run(mouse=False)
    client.close()
    sys.stdout.flush()
    sys.stderr.flush()
    # As `runtime.run`: everything is closed, and DDS may take its time to be taken down.
    os._exit(app.return_code or 0)


def _refuse(why: str) -> None:
    print(f"console: {why}", file=sys.stderr, flush=True)
    os._exit(2)

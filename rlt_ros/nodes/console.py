"""The operator's view in a terminal of its own: `ros2 run rlt_ros console --ros-args -r __ns:=/rlt`."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from typing import Any

import rclpy
from ament_index_python.packages import get_package_share_directory
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from rlt_ros import msg, srv
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Answer, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import BadMessage
from rlt_ros.nodes.convert_operator import operator_status_from_message
from rlt_ros.nodes.parameters import declare
from rlt_ros.operator.client import Received
from rlt_ros.operator.keys import load_keys
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.operator.terminal import NoTerminal, borrowed, check_terminal, close_on_signal

PRESET = Path("config", "operator", "keys.yaml")


class RosClient:
    """`operator.client.Client` over topics and services. A thread of its own receives."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._newest: tuple[OperatorStatus, float] | None = None
        self.refused = ""
        self._mode = node.create_client(srv.SetPolicyMode, "set_policy_mode")
        self._label = node.create_client(srv.LabelEpisode, "label_episode")
        topic = node.create_subscription(msg.OperatorStatus, "operator_status", self._on_status, qos.LATCHED)
        self.where = topic.topic_name
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name="ros", daemon=True)
        self._thread.start()

    def newest(self) -> Received | None:
        """The newest status, None before the first."""
        newest = self._newest
        return None if newest is None else Received(newest[0], time.monotonic() - newest[1])

    def press(self, request: Request) -> Future[Answer]:
        """Ask the `teleop` node."""
        answer: Future[Answer] = Future()
        label = request in LABEL_REQUESTS
        client = self._label if label else self._mode
        if not client.service_is_ready():
            name = self._node.resolve_service_name(client.srv_name)
            answer.set_result(Answer(False, f"nobody answers {name}: is teleop running?"))
            return answer
        codes = LABEL_REQUESTS if label else MODE_REQUESTS
        call = client.srv_type.Request(**{"label" if label else "mode": codes.index(request)})
        client.call_async(call).add_done_callback(lambda done: _settle(answer, done))
        return answer

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(timeout=1.0)

    def _on_status(self, message: msg.OperatorStatus) -> None:
        try:
            self._newest = operator_status_from_message(message), time.monotonic()
        except BadMessage as error:
            self._node.get_logger().error(f"{self.where}: {error}", throttle_duration_sec=1.0)

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()


def _settle(answer: Future[Answer], done: Any) -> None:
    response = done.result()
    # Whoever waited may have given up.
    with suppress(InvalidStateError):
        answer.set_result(Answer(bool(response.success), str(response.message)))


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

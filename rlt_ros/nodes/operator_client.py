"""The way to one `teleop` node over its services and its status: for the console, the panel and the input devices."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from rlt_ros import msg, srv
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Answer, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import BadMessage
from rlt_ros.nodes.convert_operator import operator_status_from_message
from rlt_ros.operator.client import Received
from rlt_ros.operator.status import OperatorStatus


class Asker:
    """Requests to the `teleop` node. Whoever spins the node lets the answers in."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._mode = node.create_client(srv.SetPolicyMode, "set_policy_mode")
        self._label = node.create_client(srv.LabelEpisode, "label_episode")

    def missing(self) -> str:
        """The services that nobody answers, empty if there are none."""
        clients = [client for client in (self._mode, self._label) if not client.service_is_ready()]
        return ", ".join(self._node.resolve_service_name(client.srv_name) for client in clients)

    def press(self, request: Request) -> Future[Answer]:
        """Ask for something; requests of one kind are answered in their order. The future may never be done."""
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


class RosClient:
    """`operator.client.Client` over topics and services. A thread of its own receives."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._newest: tuple[OperatorStatus, float] | None = None
        self._asker = Asker(node)
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
        return self._asker.press(request)

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

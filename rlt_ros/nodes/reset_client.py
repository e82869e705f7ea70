"""The reset that a simulator does when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.task import Future

from rlt_ros import srv
from rlt_ros.nodes.runtime import BaseNode

PATIENCE = 10.0
"""s to wait for the service."""
ANSWER = 5.0
"""s to wait for its answer before it is asked again."""


class ResetClient:
    """Asks for one reset at a time; done: told whether it succeeded, once for each `request`.

    At the start of a graph the service may be found a moment later, and a first answer may find nobody: so it is called
    as soon as it is there, and again if no answer comes. The same seed gives the same start.
    """

    def __init__(self, node: BaseNode, topic: str, done: Callable[[bool], None]) -> None:
        self._node, self._done = node, done
        self._client = node.create_client(srv.ResetRobot, topic)
        self._seed: int | None = None
        self._since = self._called = float("-inf")

    def request(self, seed: int) -> None:
        """Ask for the start pose of a seed."""
        self._seed, self._since, self._called = seed, time.monotonic(), float("-inf")
        self.poll()

    def poll(self) -> None:
        """Go on with what was asked for; call it regularly."""
        now = time.monotonic()
        if self._seed is None or now - self._called < ANSWER:
            return
        if self._client.service_is_ready():
            self._called = now
            self._client.call_async(srv.ResetRobot.Request(seed=int(self._seed))).add_done_callback(self._on_answer)
        elif now - self._since > PATIENCE:
            self._end(False, f"{self._client.srv_name} has no server")

    def _on_answer(self, future: Future) -> None:
        if self._seed is not None:
            answer = future.result()
            self._end(bool(answer.success), answer.message)

    def _end(self, ok: bool, message: str) -> None:
        self._seed = None
        if not ok:
            self._node.get_logger().error(f"reset failed: {message}")
        self._done(ok)

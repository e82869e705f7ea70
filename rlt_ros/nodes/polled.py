"""Subscriptions that are looked at when it suits, however fast their publisher is."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class _Unattended(CallbackGroup):
    """Its subscriptions do not wake the executor; whoever wants their messages takes them."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


class Polled:
    """A subscription without a callback: at 1 kHz a Python callback for each message would take a core.

    qos: of depth 1, so that the message that is taken is the newest.
    """

    def __init__(self, node: Node, kind: type, topic: str, qos: QoSProfile) -> None:
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, qos, callback_group=_Unattended()
        )
        self.topic = self._subscription.topic_name

    def take(self) -> Any | None:
        """The newest message, None where none has come since the last one."""
        with self._subscription.handle:
            taken = self._subscription.handle.take_message(self._subscription.msg_type, False)
        return None if taken is None else taken[0]

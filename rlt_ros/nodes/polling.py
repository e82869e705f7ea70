"""Subscriptions that are looked at now and then: of what comes in between, no Python object is made."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


class Unattended(CallbackGroup):
    """Its subscriptions do not wake the executor; whoever wants their messages takes them."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


def polled(node: Node, kind: type, topic: str, profile: QoSProfile) -> Subscription:
    """A subscription for `take`; with a profile of depth 1 what is taken is the newest message."""
    return node.create_subscription(kind, topic, lambda message: None, profile, callback_group=Unattended())


def take(subscription: Subscription) -> Any | None:
    """The next message of a subscription, None if there is none."""
    with subscription.handle:
        taken = subscription.handle.take_message(subscription.msg_type, False)
    return None if taken is None else taken[0]

"""Subscriptions that are looked at now and then: of what comes in between, no Python object is made."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.subscription import Subscription


class Unattended(CallbackGroup):
    """Its subscriptions do not wake the executor; whoever wants their messages takes them."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


def take(subscription: Subscription) -> Any | None:
    """The next message of a subscription, None if there is none."""
    with subscription.handle:
        taken = subscription.handle.take_message(subscription.msg_type, False)
    return None if taken is None else taken[0]

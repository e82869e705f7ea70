"""Whether the node behind a topic still runs, within a fraction of a second: DDS liveliness instead of messages.

A node that was killed says nothing more, and without a lease DDS counts its publishers for up to 20 s. With one the
middleware itself says that a process runs, whatever its Python is busy with, between two messages and without any.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from rclpy.duration import Duration
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import LivelinessPolicy, QoSProfile

LEASE = 0.12
"""s without a sign of life after which a publisher counts as gone: below the 0.2 s that a hold may take."""


def with_lease(profile: QoSProfile) -> QoSProfile:
    """A profile under whose publishers DDS vouches for their process; it fits subscribers that ask for no lease."""
    leased = copy(profile)
    leased.liveliness = LivelinessPolicy.AUTOMATIC
    leased.liveliness_lease_duration = Duration(nanoseconds=int(LEASE * 1e9))
    return leased


class Witness:
    """Watches the publishers of a topic that have a lease; takes none of their messages apart.

    name: of the node behind it, for people. Publishers without a lease are not seen, and nothing is said of them.
    """

    def __init__(self, node: Node, name: str, kind: type, topic: str, profile: QoSProfile) -> None:
        self._name, self._count, self._seen = name, 0, False
        # The default callbacks would warn of publishers that offer no lease: a bag that is replayed, a test.
        events = SubscriptionEventCallbacks(
            liveliness=self._on_change, incompatible_qos=lambda event: None, use_default_callbacks=False
        )
        node.create_subscription(kind, topic, self._ignore, with_lease(profile), event_callbacks=events, raw=True)

    @property
    def alive(self) -> bool:
        """Whether a publisher with a lease is there."""
        return self._count > 0

    @property
    def gone(self) -> str:
        """Why its work cannot be counted on, empty if it runs or was never seen."""
        return f"{self._name}: no sign of life" if self._seen and not self.alive else ""

    def _on_change(self, event: QoSLivelinessChangedInfo) -> None:
        self._count = event.alive_count
        self._seen = self._seen or self.alive

    @staticmethod
    def _ignore(message: Any) -> None:
        """Only whether somebody is there matters."""

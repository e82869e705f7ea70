"""What a node says of itself on /diagnostics: a status for each thing that can go wrong, every second and on change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import header

if TYPE_CHECKING:
    from rlt_ros.nodes.runtime import BaseNode

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
ROBOT_MODE = "robot mode"
"""Part of the executor whose message is the mode of the robot, empty where nobody says it."""
DEVICE = "device "
"""Begin of the parts that are a person's input devices, followed by the device's name."""

REFEREE = "rules"
"""Part of the referee whose message says what it is about to press."""


class Diagnostics:
    """Keeps the statuses of a node and publishes them as diagnostic_msgs/DiagnosticArray.

    Names are `NODE: PART` with the node's full name, so that several robots can be told apart. hardware_id: the robot's
    name. A status whose level or message changes is published at once, alone; all of them by `publish`, each second.
    """

    def __init__(self, node: Node, hardware_id: str = "") -> None:
        self._node, self._hardware = node, hardware_id
        self._prefix = node.get_fully_qualified_name().lstrip("/")
        self._statuses: dict[str, DiagnosticStatus] = {}
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATS)

    def set(self, part: str, level: bytes, message: str, **values: object) -> None:
        """State of a part. level: OK, WARN or ERROR. values: shown as text beside it."""
        before = self._statuses.get(part)
        pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        status = DiagnosticStatus(
            level=level,
            name=f"{self._prefix}: {part}",
            message=message,
            hardware_id=self._hardware,
            values=pairs,
        )
        self._statuses[part] = status
        if before is not None and (before.level, before.message) != (level, message):
            self._send([status])

    def say(self, part: str, fault: str, fine: str = "ok", level: bytes = ERROR, **values: object) -> None:
        """State of a part from why it is wrong, empty if it is not."""
        self.set(part, level if fault else OK, fault or fine, **values)

    def publish(self) -> None:
        """All statuses now."""
        self._send(list(self._statuses.values()))

    def _send(self, statuses: list[DiagnosticStatus]) -> None:
        if statuses:
            stamp = self._node.get_clock().now().nanoseconds
            self._publisher.publish(DiagnosticArray(header=header(stamp), status=statuses))


class Reports:
    """What a node says each second: how it is scheduled, what it hears, and what `tell` adds of its own."""

    def __init__(
        self, node: BaseNode, hardware_id: str = "", tell: Callable[[Diagnostics], None] = lambda say: None
    ) -> None:
        self._node, self._tell = node, tell
        self._say = Diagnostics(node, hardware_id)
        node.every(1.0, self._on_second)

    def _on_second(self) -> None:
        tell_basics(self._node, self._say)
        self._tell(self._say)
        self._say.publish()


def tell_basics(node: BaseNode, say: Diagnostics) -> None:
    """Parts that every node has: `scheduling`, and `topics` with a warning where a message was just refused."""
    say.set("scheduling", OK, node.priority)
    heard = node.traffic.look()
    refused = ", ".join(topic for topic, each in heard.items() if each.refused)
    say.say("topics", f"refused messages of {refused}" if refused else "", f"{len(heard)} heard", WARN, **heard)

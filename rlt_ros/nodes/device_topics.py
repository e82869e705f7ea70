"""Devices whose drivers publish topics: gamepads through joy, SpaceMice through spacenav."""

from __future__ import annotations

import math
from collections.abc import Mapping

from geometry_msgs.msg import Twist
from rclpy.node import Node
from sensor_msgs.msg import Joy

from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.polling import polled, take
from rlt_ros.operator.devices.mapping import SPACENAV, TWIST_AXES, DeviceMap
from rlt_ros.operator.devices.reading import LOST, Arrivals, Reading

LOOK_AROUND = 0.2
"""s between two looks at who publishes."""


class Stream:
    """The newest message of a device's topic, when that was so, and why it must not be used."""

    def __init__(self, node: Node, kind: type, topic: str, hint: str) -> None:
        # Best effort takes what reliable and unreliable drivers send; what is lost is late for a person anyway.
        self._node, self._kind, self._hint = node, kind, hint
        self._subscription = polled(node, kind, topic, qos.BROADCASTER)
        self.topic = self._subscription.topic_name
        self._arrivals = Arrivals()
        self.message: object | None = None
        self.at = float("-inf")
        self._looked, self._foreign = float("-inf"), ""
        self._came = float("-inf")

    def look(self, now: float) -> str:
        """Take the newest message; why the stream must not be used, empty if it may."""
        message = take(self._subscription)
        if message is not None:
            stamp = stamp_of(message.header) if hasattr(message, "header") else 0
            self.message, self.at, self._came = message, self._arrivals.at(stamp, now), now
        if now - self._looked >= LOOK_AROUND:
            self._looked, self._foreign = now, self._publishers()
        if self._foreign:
            return self._foreign
        if now - self._came > LOST:
            return self._silence()
        return (
            f"{self.topic}: by its stamps it comes late (network, or a clock was set)" if now - self.at > LOST else ""
        )

    def _publishers(self) -> str:
        there = self._node.get_publishers_info_by_topic(self.topic)
        names = ", ".join(sorted(info.node_name for info in there))
        return f"{self.topic} has {len(there)} publishers ({names}); expected one" if len(there) > 1 else ""

    def _silence(self) -> str:
        if self._node.count_publishers(self.topic):
            what = "no message yet on" if self.message is None else "no message any more on"
            return f"{what} {self.topic}: {self._hint}"
        name = f"{self._kind.__module__.split('.')[0]}/msg/{self._kind.__name__}"
        like = [t for t, kinds in self._node.get_topic_names_and_types() if name in kinds and t != self.topic]
        others = [topic for topic in like if self._node.count_publishers(topic)]
        return f"nothing publishes {self.topic} ({name}); such topics are there: {', '.join(others) or 'none'}"


class JoyDevice:
    """A gamepad as sensor_msgs/Joy."""

    HINT = "no gamepad is plugged in, or autorepeat_rate of its driver is 0 and a held stick sends nothing"

    def __init__(self, node: Node, name: str, device: DeviceMap) -> None:
        self.name, self.map = name, device
        self._joy = Stream(node, Joy, device.topic, self.HINT)

    def read(self, now: float) -> Reading:
        """As `Device.read`."""
        fault = self._joy.look(now)
        message: Joy | None = self._joy.message
        if fault or message is None:
            return Reading(fault=fault)
        axes = dict(enumerate(message.axes))
        return _checked(self._joy.at, axes, message, self._strange(message) or _not_finite(self._joy.topic, axes))

    def close(self) -> None:
        """As `Device.close`."""

    def _strange(self, message: Joy) -> str:
        uses = [(use, "button", button, len(message.buttons)) for use, button in self.map.uses()]
        uses += [(direction, "axis", axis.axis, len(message.axes)) for direction, axis in self.map.axes.items()]
        for use, kind, number, there in uses:
            if number >= there:
                return f"{use} is {kind} {number}, {self._joy.topic} has {there}: another device or driver than mapped"
        return ""


class SpacenavDevice:
    """A SpaceMouse as geometry_msgs/Twist, which has no stamp, and sensor_msgs/Joy for its buttons, which it sends from
    the first press on."""

    HINT = "no SpaceMouse is plugged in, or spacenavd does not run"

    def __init__(self, node: Node, name: str, device: DeviceMap) -> None:
        self.name, self.map = name, device
        self._twist = Stream(node, Twist, device.twist, self.HINT)
        self._joy = Stream(node, Joy, device.joy, self.HINT)

    def read(self, now: float) -> Reading:
        """As `Device.read`."""
        fault = "; ".join(filter(None, (self._twist.look(now), self._joy.look(now))))
        twist, joy = self._twist.message, self._joy.message
        if fault or twist is None or joy is None:
            return Reading(fault=fault)
        parts = {"linear": twist.linear, "angular": twist.angular}
        axes = {name: getattr(parts[name.split(".")[0]], name.split(".")[1]) for name in TWIST_AXES}
        return _checked(min(self._twist.at, self._joy.at), axes, joy, _not_finite(self._twist.topic, axes))

    def close(self) -> None:
        """As `Device.close`."""


def topic_device(node: Node, name: str, device: DeviceMap) -> JoyDevice | SpacenavDevice:
    """The device of a mapping whose kind has topics."""
    return (SpacenavDevice if device.kind == SPACENAV else JoyDevice)(node, name, device)


def _checked(at: float, axes: Mapping[int | str, float], joy: Joy, fault: str) -> Reading:
    pressed = frozenset(number for number, value in enumerate(joy.buttons) if value)
    return Reading(fault=fault) if fault else Reading(at, axes, pressed)


def _not_finite(topic: str, axes: Mapping[int | str, float]) -> str:
    wrong = [f"axis {name} is {value}" for name, value in axes.items() if not math.isfinite(value)]
    return f"{topic}: {wrong[0]}; expected a finite number" if wrong else ""

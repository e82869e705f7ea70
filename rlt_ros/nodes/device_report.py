"""What is said of a person's input devices: on the terminal where it changes, on /diagnostics every second."""

from __future__ import annotations

from collections.abc import Mapping

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.nodes.diagnostics import DEVICE, WARN, Diagnostics
from rlt_ros.nodes.operator_client import Asker
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.operator.devices.deadman import Hold
from rlt_ros.operator.devices.hands import Hands
from rlt_ros.operator.devices.reading import Reading
from rlt_ros.operator.keys import REQUESTS
from rlt_ros.operator.view import answer_text

SURE = 1.0
"""s for which a fault of a device that is not live must last until it is told: topics are found one after the other."""
LIVE = "live"
_ACTIONS = {request: action for action, request in REQUESTS.items()}


class DeviceReport:
    """Tells which devices are live, what is wrong with the others, and what teleop answers to their buttons."""

    def __init__(self, node: BaseNode, hands: Hands, asker: Asker, robot: str) -> None:
        self._node, self._hands, self._asker = node, hands, asker
        self._diagnostics = Diagnostics(node, robot)
        self._since: dict[str, tuple[str, float]] = {}
        self._told: dict[str, str] = {}
        self._hold, self._answers = Hold.LOCKED, False
        node.every(1.0, self._on_second)

    def look(self, now: float, readings: Mapping[str, Reading]) -> None:
        """The newest readings."""
        for name, reading in readings.items():
            if reading.fault or reading.fresh(now):  # a gap of a moment changes nothing
                self._diagnostics.say(f"{DEVICE}{name}", reading.fault, f"{LIVE}{self._held(name)}")
            self._tell(name, reading, now)
        if self._hands.deadman.state is not self._hold:
            self._hold = self._hands.deadman.state
            self._node.get_logger().info(f"deadman: {self._hold.value}")

    def answered(self, name: str, request: Request, answer: Answer) -> None:
        """What teleop answered to a device."""
        text = f"{name}: {answer_text(_ACTIONS[request], answer)}"
        if answer.accepted and request is not Request.MODE_HOLD:
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warning(text)

    def _held(self, name: str) -> str:
        return f", deadman {self._hands.deadman.state.value}" if name == self._hands.holder else ""

    def _tell(self, name: str, reading: Reading, now: float) -> None:
        state = reading.fault or (LIVE if reading.fresh(now) else "")
        text, since = self._since.get(name, ("", now))
        if state != text:
            self._since[name], since = (state, now), now
        told = self._told.get(name)
        if not state or state == told or (reading.fault and told != LIVE and now - since < SURE):
            return
        self._told[name] = state
        if reading.fault:
            self._node.get_logger().error(f"{name}: {state}")
        else:
            self._node.get_logger().info(f"{name}: {state}")

    def _on_second(self) -> None:
        missing = self._asker.missing()
        self._diagnostics.say("teleop", f"nobody answers {missing}" if missing else "", "answers")
        if self._answers is bool(missing):
            self._answers = not missing
            self._node.get_logger().info("teleop answers" if self._answers else f"nobody answers {missing} any more")
        self._tell_publishers()
        self._diagnostics.publish()

    def _tell_publishers(self) -> None:
        topic = self._node.resolve_topic_name("human_action")
        names = sorted(info.node_name for info in self._node.get_publishers_info_by_topic(topic))
        others = (
            f"{topic} has {len(names)} publishers ({', '.join(names)}); their commands mix" if len(names) > 1 else ""
        )
        if others:
            self._node.get_logger().warning(others, throttle_duration_sec=10.0)
        self._diagnostics.say("human_action", others, "only publisher", WARN)

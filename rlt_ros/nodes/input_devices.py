"""A person's input devices: gamepad, SpaceMouse, pedal. A client of `teleop`, and the source of `human_action`.

ros2 run rlt_ros input_devices --ros-args -r __ns:=/rlt -p devices:=gamepad
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from ament_index_python.packages import get_package_share_directory
from scipy.spatial.transform import Rotation

from rlt_ros import msg
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header, mode_from_message, stamp_of, step_from_message, vector
from rlt_ros.nodes.device_report import DeviceReport
from rlt_ros.nodes.device_topics import topic_device
from rlt_ros.nodes.operator_client import Asker
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.polling import polled, take
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.operator.devices.axes import action
from rlt_ros.operator.devices.frames import AxisFrame, tool_rotation
from rlt_ros.operator.devices.hands import Hands, Orders
from rlt_ros.operator.devices.keys_device import KeysDevice
from rlt_ros.operator.devices.mapping import EVDEV, DeviceMap, load_devices
from rlt_ros.operator.devices.reading import Device
from rlt_ros.robot.config import load_robot
from rlt_ros.types import GRIPPER, PROPRIO_NAMES

PRESETS = Path("config", "operator", "devices")
LOOK = 0.01
"""s between two looks at the devices."""


class InputDevicesNode(BaseNode):
    """Topics, keys and services around `operator.devices.hands.Hands`."""

    def __init__(self) -> None:
        super().__init__("input_devices")
        if self.lockstep:
            raise ValueError("lockstep is true: a person needs real time; start with lockstep:=false")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        given = declare(self, "devices", "gamepad", "Presets of config/operator/devices or files, commas between.")
        names = [name.strip() for name in given.split(",") if name.strip()]
        maps = load_devices(names, Path(get_package_share_directory("rlt_ros")) / PRESETS)
        self._frames = {name: AxisFrame(device, self._robot, name) for name, device in maps.items()}
        self._devices = [self._device(name, device) for name, device in maps.items()]
        self._hands = Hands(maps)
        self._asker = Asker(self)
        self._report = DeviceReport(self, self._hands, self._asker, self._robot.name)
        self._human = self.create_publisher(msg.HumanAction, "human_action", qos.STEP)
        self._observation = polled(self, msg.Observation, "observation", qos.BROADCASTER)
        self._tool: tuple[int, Rotation] | None = None
        self._sent = float("-inf")
        self.listen_live(msg.PolicyMode, "policy_mode", self._on_word, qos.STEP)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        self.every(LOOK, self._on_look)

    def _device(self, name: str, device: DeviceMap) -> Device:
        if device.kind != EVDEV:
            return topic_device(self, name, device)
        from rlt_ros.operator.devices.evdev_port import EvdevKernel, check_keys

        check_keys(name, device)
        return KeysDevice(name, device, EvdevKernel(), lambda text: self.get_logger().info(f"{name}: {text}"))

    def close(self) -> None:
        for device in self._devices:
            device.close()

    # what comes in

    def _on_word(self, message: msg.PolicyMode) -> None:
        if self._hands.deadman.word(mode_from_message(message).mode):
            now = self.get_clock().now().nanoseconds
            self._human.publish(msg.HumanAction(header=header(now), observation_id=0, action=floats([])))

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        self._hands.gripper.executed(float(step_from_message(message).action[GRIPPER]))

    def _on_look(self) -> None:
        now = time.monotonic()
        readings = {device.name: device.read(now) for device in self._devices}
        orders = self._hands.look(now, readings)
        for name, request in orders.requests:
            self._ask(name, request)
        if orders.twists and orders.at > self._sent:
            self._sent = orders.at
            self._command(orders, now)
        self._report.look(now, readings)

    # what goes out

    def _ask(self, name: str, request: Request) -> None:
        self._asker.press(request).add_done_callback(lambda done: self._on_answer(name, request, done.result()))

    def _on_answer(self, name: str, request: Request, answer: Answer) -> None:
        if request is Request.MODE_HUMAN:
            self._hands.deadman.answered(answer.accepted)
        if request is Request.HAND_BACK:
            self._hands.deadman.handed_back(answer.accepted)
        self._report.answered(name, request, answer)

    def _command(self, orders: Orders, now: float) -> None:
        try:
            parts = [(twist, self._frame(name)) for name, twist in orders.twists.items()]
        except ValueError as error:
            self.get_logger().error(f"the arm holds: {error}", throttle_duration_sec=1.0)
            return
        stamp = self.get_clock().now().nanoseconds - round((now - orders.at) * 1e9)
        values = floats(action(parts, self._hands.gripper.value))
        self._human.publish(msg.HumanAction(header=header(max(stamp, 0)), observation_id=0, action=values))

    def _frame(self, name: str) -> Rotation:
        frame = self._frames[name]
        return frame.in_base(self._tool_now() if frame.follows_tool else None)

    def _tool_now(self) -> Rotation:
        """Orientation of the tool at the newest observation. Raises ValueError where that is too old."""
        message = take(self._observation)
        if message is not None:
            proprio = vector(message.proprio, len(PROPRIO_NAMES), "proprio")
            self._tool = stamp_of(message.header), tool_rotation(np.asarray(proprio), self._robot)
        if self._tool is None:
            raise ValueError("observation: none has come, so the orientation of the tool is not known")
        age = (self.get_clock().now().nanoseconds - self._tool[0]) / 1e9
        if abs(age) > self._robot.limits.stale_after:
            raise ValueError(f"observation: {age:.3f} s old, so the orientation of the tool is not known")
        return self._tool[1]


def main() -> None:
    """Entry point."""
    run(InputDevicesNode)

"""The operator's view in a browser: `ros2 run rlt_ros panel --ros-args -r __ns:=/rlt`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import rclpy
from ament_index_python.packages import get_package_share_directory
from rclpy.exceptions import ParameterException
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.console import PRESET
from rlt_ros.nodes.convert import event_from_message, stamp_of
from rlt_ros.nodes.convert_operator import operator_status_from_message
from rlt_ros.nodes.convert_robot import image_from_message
from rlt_ros.nodes.operator_client import RosClient
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.polling import Unattended, take
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.operator.keys import Keys, load_keys
from rlt_ros.operator.panel.address import PORT, Listening, listen
from rlt_ros.operator.panel.curve import Curve
from rlt_ros.operator.panel.pictures import Pictures
from rlt_ros.ranges import Range
from rlt_ros.robot.config import load_robot

MISSING = {"nicegui", "fastapi", "starlette", "uvicorn"}


class PanelNode(BaseNode):
    """Feeds pictures and curve; the status is the client's. Raises ValueError on parameters that cannot be used."""

    def __init__(self) -> None:
        super().__init__("panel")
        robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        preset = Path(get_package_share_directory("rlt_ros")) / PRESET
        keys = declare(self, "keys", "", "Keys file (YAML); empty: config/operator/keys.yaml.")
        self.keys: Keys = load_keys(Path(keys or preset))
        self.rate = declare(self, "camera_rate", 5.0, "Pictures a second of each camera, at most.", Range(0.1, 30.0))
        self.cameras = {name: self.robot_topic(topic) for name, topic in robot.cameras.items()}
        self.pictures, self.curve = Pictures(self.cameras), Curve()
        group = Unattended()
        self._cameras = {
            name: self.create_subscription(Image, topic, lambda m: None, qos.BROADCASTER, callback_group=group)
            for name, topic in self.cameras.items()
        }
        self.listen(msg.EpisodeEvent, "episode_event", lambda m: self.curve.end(event_from_message(m)), qos.EVENTS)
        status = "operator_status"
        self.listen(msg.OperatorStatus, status, lambda m: self.curve.look(operator_status_from_message(m)), qos.LATCHED)
        self.every(1.0 / self.rate, self._look)

    def listening(self) -> Listening:
        """A bound socket, by the parameters."""
        host = declare(self, "host", "127.0.0.1", "Name or address to listen on; 0.0.0.0: every one of this machine.")
        port = declare(self, "port", PORT, "TCP port; 0: any that is free.", Range(0, 65_535))
        token = declare(self, "token", "", "Asked for off this machine, or where given; empty: drawn at random.")
        return listen(host, port, token)

    def _look(self) -> None:
        for name, subscription in self._cameras.items():
            message = take(subscription)
            if message is not None:
                # Turned into a picture only where somebody looks at it.
                self.pictures.take(name, stamp_of(message.header), partial(image_from_message, message))


def main() -> None:
    """Entry point. Exit code 2: no NiceGUI, no usable parameters, or the port is taken."""
    try:
        from rlt_ros.operator.panel.parts import Panel
        from rlt_ros.operator.panel.server import Server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in MISSING:
            raise
        _refuse("NiceGUI is missing: pip install 'rlt_ros[panel]'")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = PanelNode()
        listening = node.listening()
    except (ValueError, ParameterException) as error:
        _refuse(str(error))
    client = RosClient(node)
    server = Server(Panel(client, node.keys, node.cameras, node.pictures, node.curve, node.rate), listening)
    server.start()
    print(f"panel: open {listening.url}", flush=True)
    while server.lives and not stop.wait(0.2):
        pass
    code = 0 if stop.is_set() else 1
    server.close()
    client.close()
    _end(code)


def _refuse(why: str) -> None:
    print(f"panel: {why}", file=sys.stderr, flush=True)
    _end(2)


def _end(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    # As `runtime.run`: everything is closed, and DDS may take its time to be taken down.
    os._exit(code)

"""A gamepad's driver as joy_node is one: sensor_msgs/Joy with stamps at 50 Hz, what is held read from stdin as JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from typing import Any

AXES, BUTTONS = 8, 11
RATE = 50.0


class JoyDriver:
    """A driver in a process of its own: the test's is too busy to send in time."""

    def __init__(self, domain: int, topic: str = "/joy") -> None:
        env = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, topic], env=env, stdin=subprocess.PIPE, text=True, bufsize=1
        )

    def hold(self, *buttons: int, axes: dict[int, float] | None = None) -> None:
        """Hold these buttons and deflections from now on, and no others."""
        print(json.dumps({"buttons": buttons, "axes": axes or {}}), file=self.process.stdin)

    def press(self, button: int, *held: int) -> None:
        """Press a button for a moment, beside others that are held."""
        self.hold(*held, button)
        time.sleep(0.15)
        self.hold(*held)

    def close(self) -> None:
        """Be gone."""
        self.process.kill()
        self.process.wait()


def state(line: str) -> tuple[list[float], list[int]]:
    held = json.loads(line)
    axes, buttons = [0.0] * AXES, [0] * BUTTONS
    for number, value in held["axes"].items():
        axes[int(number)] = float(value)
    for number in held["buttons"]:
        buttons[number] = 1
    return axes, buttons


def main(topic: str) -> None:
    import rclpy
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import Joy

    from rlt_ros.nodes.convert import header

    rclpy.init()
    node = rclpy.create_node("joy_node")
    publisher = node.create_publisher(Joy, topic, QoSProfile(depth=10))
    held: Any = state('{"axes": {}, "buttons": []}')
    while True:
        due = time.monotonic() + 1.0 / RATE
        while (left := due - time.monotonic()) > 0.0:
            if select.select([sys.stdin], [], [], left)[0]:
                line = sys.stdin.readline()
                if not line:
                    return
                held = state(line)
                break  # a change goes out at once
        axes, buttons = held
        publisher.publish(Joy(header=header(time.time_ns(), "joy"), axes=axes, buttons=buttons))


if __name__ == "__main__":
    main(sys.argv[1])

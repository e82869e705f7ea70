"""The node `input_devices` as a person starts it: what drivers publish comes out as commands and requests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist, Vector3
from graph import Listener, new_domain
from sensor_msgs.msg import Joy

from rlt_ros import msg, srv
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header
from rlt_ros.types import Mode

PRESETS = Path(__file__).parents[2] / "config" / "operator" / "devices"
NODE = ["ros2", "run", "rlt_ros", "input_devices", "--ros-args", "-r", "__ns:=/rlt"]
HUMAN, SAID = "/rlt/human_action", "/diagnostics"
LEFT, RIGHT = [1, 0], [0, 1]
TURNED = float(np.pi / 2)


class Desk:
    """Plays the drivers, and a `teleop` that grants everything; the tool is turned by 90 degrees about the vertical."""

    def __init__(self, folder: Path) -> None:
        self.listener = Listener({HUMAN: (msg.HumanAction, qos.STEP), SAID: (DiagnosticArray, None)}, new_domain())
        self._folder, self.mode, self.asked = folder, Mode.VLA, []
        self.env = {**os.environ, "ROS_DOMAIN_ID": str(self.listener.domain), "ROS_PYTHON_CHECK_FIELDS": "1"}
        node = self.listener.node
        self._twist = node.create_publisher(Twist, "/spacenav/twist", 10)
        self._joy = node.create_publisher(Joy, "/spacenav/joy", 10)
        self._words = node.create_publisher(msg.PolicyMode, "/rlt/policy_mode", qos.STEP)
        self._observations = node.create_publisher(msg.Observation, "/rlt/observation", qos.STEP)
        self._steps = node.create_publisher(msg.ExecutedStep, "/rlt/executed_step", qos.EXECUTED)
        node.create_service(srv.SetPolicyMode, "/rlt/set_policy_mode", self._on_mode)
        node.create_service(srv.LabelEpisode, "/rlt/label_episode", self._on_label)
        self.buttons: list[int] = []
        self.linear, self.angular = [0.0] * 3, [0.0] * 3
        self._count, self.gripper = 0, 1.0
        self.processes: list[subprocess.Popen] = []

    def start(self, device: str | dict[str, Any], *options: str, command: list[str] | None = None) -> Path:
        """Start the node with a preset or a mapping; the file with what it prints."""
        if isinstance(device, dict):
            path = self._folder / "mine.yaml"
            path.write_text(yaml.safe_dump(device))
            device = str(path)
        log = self._folder / f"node{len(self.processes)}.log"
        given = [*(command or NODE), "-p", f"devices:={device}", *options]
        with log.open("w") as out:
            self.processes.append(subprocess.Popen(given, env=self.env, stdout=out, stderr=subprocess.STDOUT))
        return log

    def wait(self, what: Callable[[], Any], why: str, timeout: float = 60.0) -> Any:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self._tick()
            if value := what():
                return value
        raise AssertionError(f"{timeout} s without {why}:\n" + "\n".join(
            log.read_text()[-3000:] for log in self._folder.glob("node*.log")
        ))  # fmt: skip

    def end(self) -> int:
        """The exit code of the node started last."""
        self.wait(lambda: self.processes[-1].poll() is not None, "its end")
        return self.processes[-1].returncode

    def _tick(self) -> None:
        """What drivers, observation node, executor and teleop say in a hundredth of a second."""
        self._count += 1
        stamp = header(time.time_ns())
        linear, angular = (Vector3(**dict(zip("xyz", v))) for v in (self.linear, self.angular))
        self._twist.publish(Twist(linear=linear, angular=angular))
        self._joy.publish(Joy(header=stamp, axes=[*self.linear, *self.angular], buttons=self.buttons))
        if self._count % 5 == 0:
            number = self._count // 5
            proprio = floats([0.04, 0, 0, 0, 0, 0, TURNED, *[0.0] * 12])
            self._observations.publish(msg.Observation(header=stamp, id=number, proprio=proprio))
            self._words.publish(msg.PolicyMode(header=stamp, observation_id=number, mode=int(self.mode)))
            held = floats([0, 0, 0, 0, 0, 0, self.gripper])
            self._steps.publish(msg.ExecutedStep(header=stamp, observation_id=number, action=held, sent=held))
        self.listener.spin(0.01)

    def _on_mode(self, request: Any, response: Any) -> Any:
        self._answer(MODE_REQUESTS[request.mode], response)
        self.mode = Mode.HUMAN if self.asked[-1] is Request.MODE_HUMAN else Mode.VLA
        return response

    def _on_label(self, request: Any, response: Any) -> Any:
        return self._answer(LABEL_REQUESTS[request.label], response)

    def _answer(self, request: Request, response: Any) -> Any:
        self.asked.append(request)
        response.success, response.message = True, "done"
        return response

    def newest(self) -> list[float]:
        """The newest command."""
        command = self.listener.newest(HUMAN)
        return [] if command is None else command.action.tolist()

    def take(self, log: Path) -> None:
        """Press the left button once the node is ready."""
        self.wait(lambda: "mine: live" in log.read_text() or "spacemouse: live" in log.read_text(), "the device")
        self.wait(lambda: "deadman: released" in log.read_text(), "the released deadman")
        end = time.monotonic() + 60.0
        while Request.MODE_HUMAN not in self.asked and time.monotonic() < end:  # the services may not be found yet
            for buttons in (LEFT, []):
                self.buttons = buttons
                until = time.monotonic() + 0.3
                self.wait(lambda until=until: time.monotonic() > until or Request.MODE_HUMAN in self.asked, "a moment")
                if Request.MODE_HUMAN in self.asked:
                    return
        assert Request.MODE_HUMAN in self.asked

    def status(self, part: str) -> Any:
        """The newest status of a part on /diagnostics."""
        said = [s for array in self.listener.received[SAID] for s in array.status]
        return next((s for s in reversed(said) if s.name == f"rlt/input_devices: {part}"), None)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.listener.close()


@pytest.fixture()
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def near(values: list[float], expected: list[float]) -> bool:
    return len(values) == 7 and bool(np.allclose(values, expected, atol=1e-5))


def test_a_spacemouse_as_spacenav_publishes_it(desk: Desk) -> None:
    """Buttons are in no message until the first press; the twist has no stamp."""
    log = desk.start("spacemouse")
    desk.linear, desk.angular = [0.68, 0.0, 0.0], [0.0, 0.0, -0.68]
    desk.take(log)
    desk.wait(lambda: near(desk.newest(), [1, 0, 0, 0, 0, -0.5, 0]), "the command")
    desk.linear = [0.0, 0.0, 0.68]
    desk.wait(lambda: near(desk.newest(), [0, 0, 1, 0, 0, -0.5, 0]), "the next one")
    drives = "live, deadman held, the person drives"
    desk.wait(lambda: (said := desk.status("device spacemouse")) and said.message == drives, "its status")
    desk.buttons = [1, 1]
    desk.wait(lambda: desk.newest()[6] == -1.0, "the gripper's command")
    desk.buttons = LEFT
    desk.gripper = -1.0
    desk.wait(lambda: desk.newest()[6] == 0.0, "its end")
    desk.buttons = [0, 0]
    desk.wait(lambda: desk.asked[-1] is Request.HAND_BACK, "the hand back")
    until = time.monotonic() + 0.3
    desk.wait(lambda: time.monotonic() > until, "what was under way")
    count = len(desk.listener.received[HUMAN])
    desk.wait(lambda: time.monotonic() > until + 0.5, "a moment")
    assert len(desk.listener.received[HUMAN]) == count


def mouse(**changes: Any) -> dict[str, Any]:
    return yaml.safe_load((PRESETS / "spacemouse.yaml").read_text()) | changes


def test_the_tools_axes_follow_the_observation(desk: Desk) -> None:
    """The reference points down (half a turn about x); turned by 90 degrees, x of the tool is y of the base."""
    log = desk.start(mouse(frame="tool"))
    desk.linear = [0.68, 0.0, 0.0]
    desk.take(log)
    desk.wait(lambda: near(desk.newest(), [0, 1, 0, 0, 0, 0, 0]), "a command along the tool's x axis")
    desk.linear = [0.0, 0.0, 0.68]
    desk.wait(lambda: near(desk.newest(), [0, 0, -1, 0, 0, 0, 0]), "a command along the tool's z axis: down")


def test_a_camera_s_axes_come_from_the_robot_config(desk: Desk, tmp_path: Path) -> None:
    config = tmp_path / "robot.yaml"
    front = {
        "parent": "fr3_link0",
        "frame": "front_link",
        "position": [1.0, 0.0, 0.3],
        "quaternion": [0.0, 0.0, 1.0, 0.0],
    }
    config.write_text(yaml.safe_dump({"base": "fr3_crisp", "camera_mounts": {"front": front}}))
    log = desk.start(mouse(frame="camera", camera="front"), "-p", f"robot_config:={config}")
    desk.linear = [0.68, 0.0, 0.0]
    desk.take(log)
    desk.wait(lambda: near(desk.newest(), [-1, 0, 0, 0, 0, 0, 0]), "into the picture of a camera that faces the robot")


def test_a_second_source_of_commands_is_said(desk: Desk) -> None:
    log = desk.start("spacemouse")
    desk.listener.node.create_publisher(msg.HumanAction, HUMAN, qos.STEP)
    desk.wait(lambda: "/rlt/human_action has 2 publishers (input_devices, listener)" in log.read_text(), "the warning")


def test_a_pedal_that_is_not_there_is_said_with_what_is(desk: Desk) -> None:
    pytest.importorskip("evdev")
    log = desk.start("pedal")
    words = "pedal: no device with name '*FootSwitch*' and the keys KEY_A, KEY_B, KEY_C; there are: "
    desk.wait(lambda: words in log.read_text(), "the error")
    desk.wait(lambda: (said := desk.status("device pedal")) and said.level == b"\x02", "an error on /diagnostics")


def test_without_the_library_the_extra_is_named(desk: Desk) -> None:
    code = "import sys; sys.modules['evdev'] = None; from rlt_ros.nodes.input_devices import main; sys.exit(main())"
    log = desk.start("pedal", command=[sys.executable, "-c", code, "--ros-args"])
    assert desk.end() == 1
    assert "evdev is missing: pip install 'rlt_ros[devices]'" in log.read_text()


@pytest.mark.parametrize(
    "device, options, words",
    [
        ("joystick", (), "device joystick: no such file; presets are gamepad"),
        (mouse(frame="camera", camera="side"), (), "camera is 'side'; camera_mounts of the robot config has none"),
        ("spacemouse", ("-p", "lockstep:=true"), "lockstep is true: a person needs real time"),
    ],
)
def test_what_cannot_work_ends_at_once_with_the_reason(desk: Desk, device: Any, options: tuple, words: str) -> None:
    log = desk.start(device, *options)
    assert desk.end() == 1
    assert words in log.read_text() and "Traceback" not in log.read_text()

"""From an operator's hand to the graph, in real time on the simulated robot: a JSON line per input, two minutes in all.

For each of gamepad, console, panel and service: a press to the first `policy_mode` that shows it (topic), and of the
gamepad also to the first control step that it changes (step). A word goes out with every observation, 20 times a
second, so half a control step of waiting is in every figure but those of stop, which goes out at once.

Real processes over real DDS. A press is timed where it leaves this process: the source timestamp of its Joy message,
the call of the service, the write into the console's terminal, the mouse or key of a headless Chromium that shows the
panel. The answer is timed by its sender's source timestamp.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Joy

from bench.control import DOMAIN, GIVE_UP, Graph, Tap, spread
from rlt_ros import msg, srv
from rlt_ros.nodes.convert import header
from rlt_ros.types import Mode, Phase

RATE = 50.0
"""Hz at which the gamepad's driver repeats itself, as `autorepeat_rate` says in the presets."""
DEADMAN, BEGIN, DISCARD, STOP, UP = 9, 3, 2, 12, 3
"""Buttons and an axis of config/operator/devices/gamepad.yaml."""
ALL = QoSProfile(depth=1000)


class Gamepad:
    """A driver as game_controller_node is one: at RATE, and at once when something changes."""

    def __init__(self, tap: Tap) -> None:
        self._publisher = tap.node.create_publisher(Joy, "/joy", QoSProfile(depth=10))
        self._state = Joy(axes=[0.0] * 6, buttons=[0] * 15)
        tap.node.create_timer(1.0 / RATE, self._send)
        self.sent: list[tuple[int, Joy]] = []
        tap.listen(Joy, "/joy", ALL, lambda t, m: self.sent.append((t, m)))

    def hold(self, *buttons: int, upwards: float = 0.0) -> None:
        """Hold these and no others."""
        self._state.buttons = [int(number in buttons) for number in range(15)]
        self._state.axes = [upwards if axis == UP else 0.0 for axis in range(6)]
        self._send()

    def changed(self, button: int, down: bool, since: int) -> int:
        """When the message left that said so first (ns)."""
        return next(t for t, joy in self.sent if t >= since and bool(joy.buttons[button]) == down)

    def _send(self) -> None:
        self._state.header = header(time.time_ns(), "joy")
        self._publisher.publish(self._state)


class Console:
    """`ros2 run rlt_ros console` in a terminal of its own."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        command = ["ros2", "run", "rlt_ros", "console", "--ros-args", "-r", "__ns:=/rlt", "-p", "key_test:=false"]
        env = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)
        self.shown = b""
        threading.Thread(target=self._drain, daemon=True).start()

    def press(self, key: str) -> int:
        """When it was pressed (ns)."""
        at = time.time_ns()
        os.write(self._ours, key.encode())
        return at

    def close(self) -> None:
        """Be gone."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _drain(self) -> None:
        with suppress(OSError):
            while data := os.read(self._ours, 65536):
                self.shown += data


class Panel:
    """`ros2 run rlt_ros panel` and a Chromium that shows it."""

    def __init__(self, folder: Path) -> None:
        log = folder / "panel.log"
        command = ["ros2", "run", "rlt_ros", "panel", "--ros-args", "-r", "__ns:=/rlt", "-p", "port:=0"]
        env = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN)}
        with log.open("w") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, env=env)
        self._playwright = sync_playwright().start()
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        self._chromium = self._playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        self._page = self._chromium.new_page(viewport={"width": 1280, "height": 800})
        self._page.goto(_address(log))
        self._page.wait_for_selector("[data-press=human]", timeout=1e3 * GIVE_UP)

    def click(self, selector: str) -> int:
        """When the mouse button went down on an element (ns)."""
        box = self._page.locator(selector).bounding_box()
        self._page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        at = time.time_ns()
        self._page.mouse.down()
        self._page.mouse.up()
        return at

    def key(self, key: str) -> int:
        """When a key went down (ns)."""
        at = time.time_ns()
        self._page.keyboard.press(key)
        return at

    def close(self) -> None:
        """Be gone."""
        self._chromium.close()
        self._playwright.stop()
        self._process.send_signal(signal.SIGINT)
        self._process.wait(GIVE_UP)


def _address(log: Path) -> str:
    end = time.monotonic() + GIVE_UP
    while not (found := re.search(r"panel: open (\S+)\n", log.read_text())):
        if time.monotonic() > end:
            raise RuntimeError(f"the panel does not open: {log.read_text()}")
        time.sleep(0.1)
    return found[1]


class Desk:
    """Everything that an operator has at hand, and when each press had which effect."""

    def __init__(self, tap: Tap, folder: Path) -> None:
        self._tap, self.pad, self.console = tap, Gamepad(tap), Console()
        self.panel = Panel(folder)
        self.words: list[tuple[int, msg.PolicyMode]] = []
        tap.listen(msg.PolicyMode, "/rlt/policy_mode", ALL, lambda t, m: self.words.append((t, m)))
        self._mode = tap.node.create_client(srv.SetPolicyMode, "/rlt/set_policy_mode")
        self.found: dict[tuple[str, str, str], list[float]] = defaultdict(list)

    def ask(self, mode: Mode) -> int:
        """Call the service; when (ns)."""
        at = time.time_ns()
        self._mode.call_async(srv.SetPolicyMode.Request(mode=int(mode)))
        return at

    def note(self, source: str, press: str, at: int, shows: Callable[[msg.PolicyMode], bool]) -> None:
        """Wait for the first word after a press that shows it."""
        self._note(source, press, "topic", at, self.words, shows)

    def note_step(self, press: str, at: int, human: bool) -> None:
        """Wait for the first control step after a press of the gamepad that is the person's, or is not any more."""
        self._note("gamepad", press, "step", at, self._tap.steps, lambda step: (step.driver == step.HUMAN) == human)

    def _note(self, source: str, press: str, name: str, at: int, heard: list, shows: Callable[[Any], bool]) -> None:
        first = lambda: next((t for t, message in heard if t > at and shows(message)), None)  # noqa: E731
        self._tap.wait_for(lambda: first() is not None, f"{press} of {source} on the {name}")
        self.found[source, press, name].append((first() - at) / 1e6)

    def rest(self, number: int) -> None:
        """Presses must not keep in step with observations."""
        self._tap.spin(0.45 + 0.05 * (number % 7) / 7)


def main() -> None:
    """Print one JSON line per input and press."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presses", type=int, default=30, help="of each kind and input")
    rounds = parser.parse_args().presses
    tap = Tap()
    try:
        for line in measured(tap, rounds):
            print(json.dumps(line), flush=True)
    finally:
        tap.close()


def measured(tap: Tap, rounds: int) -> Iterator[dict[str, object]]:
    """One line for each input and press."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = {"executor": {"nice": -10, "realtime": 5}, "collector": {"nice": 5}}
        by_hand = {
            "operator": "person",
            "reset": "false",
            "episodes": 0,
            "out": f"{folder}/demos",
            "devices": "gamepad",
        }
        with Graph("collect.launch.py", Path(folder), parameters, **by_hand):
            desk = Desk(tap, Path(folder))
            try:
                ready(tap, desk)
                for number in range(rounds):
                    gamepad_round(desk, number)
                    others_round(desk, number)
            finally:
                desk.console.close()
                desk.panel.close()
    for (source, press, name), ms in sorted(desk.found.items()):
        yield {"bench": "operator", "input": source, "press": press, "presses": len(ms), **spread(np.array(ms), name)}


def ready(tap: Tap, desk: Desk) -> None:
    """Until every input has had its effect once."""
    tap.wait_for(lambda: len(tap.steps) > 20 and bool(desk.words), "steps and words")
    tap.wait_for(lambda: b"HOLD" in desk.console.shown, "the console")
    end = time.monotonic() + GIVE_UP
    while desk.words[-1][1].mode != Mode.HUMAN:
        if time.monotonic() > end:
            raise RuntimeError("the gamepad takes nothing over")
        desk.pad.hold()
        tap.spin(0.5)
        desk.pad.hold(DEADMAN)
        tap.spin(0.5)
    desk.pad.hold()
    tap.spin(0.5)
    while desk.words[-1][1].phase != Phase.LABELLED:  # its other service may be found later
        if time.monotonic() > end:
            raise RuntimeError("the gamepad begins and labels nothing")
        for button in (BEGIN, DISCARD):
            desk.pad.hold(button)
            tap.spin(0.5)
            desk.pad.hold()
            tap.spin(0.5)


def gamepad_round(desk: Desk, number: int) -> None:
    """Take over, begin, label, let go, stop."""
    upwards = 0.3 if number % 2 else -0.3
    stop(desk, number)
    since = time.time_ns()
    desk.pad.hold(DEADMAN, upwards=upwards)
    desk.rest(number)
    at = desk.pad.changed(DEADMAN, True, since)
    desk.note("gamepad", "takeover", at, lambda word: word.mode == Mode.HUMAN)
    desk.note_step("takeover", at, human=True)
    since = time.time_ns()
    desk.pad.hold()
    desk.rest(number)
    desk.note_step("release", desk.pad.changed(DEADMAN, False, since), human=False)
    for button, press, phase in ((BEGIN, "begin", Phase.CRITICAL), (DISCARD, "label", Phase.LABELLED)):
        since = time.time_ns()
        desk.pad.hold(button)
        desk.rest(number)
        desk.note("gamepad", press, desk.pad.changed(button, True, since), lambda word, p=phase: word.phase == p)
        desk.pad.hold()


def stop(desk: Desk, number: int) -> None:
    """Take the arm from whoever has it."""
    since = time.time_ns()
    desk.pad.hold(STOP)
    desk.rest(number)
    desk.note("gamepad", "stop", desk.pad.changed(STOP, True, since), lambda word: word.mode == Mode.HOLD)
    desk.pad.hold()
    desk.rest(number)


def others_round(desk: Desk, number: int) -> None:
    """Human and stop by the service, by keys of the console, by buttons and keys of the panel."""
    for press, mode in (("takeover", Mode.HUMAN), ("stop", Mode.HOLD)):
        desk.note("service", press, desk.ask(mode), lambda word, m=mode: word.mode == m)
        desk.rest(number)
    desk.rest(number)
    for press, mode, key in (("takeover", Mode.HUMAN, "h"), ("stop", Mode.HOLD, " ")):
        desk.note("console", press, desk.console.press(key), lambda word, m=mode: word.mode == m)
        desk.rest(number)
    for press, mode, button in (("takeover", Mode.HUMAN, "[data-press=human]"), ("stop", Mode.HOLD, "#stop")):
        desk.note("panel, button", press, desk.panel.click(button), lambda word, m=mode: word.mode == m)
        desk.rest(number)
    desk.rest(number)
    for press, mode, key in (("takeover", Mode.HUMAN, "h"), ("stop", Mode.HOLD, " ")):
        desk.note("panel, key", press, desk.panel.key(key), lambda word, m=mode: word.mode == m)
        desk.rest(number)
    desk.rest(number)


if __name__ == "__main__":
    main()

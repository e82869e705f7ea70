"""The console as a person starts it: a real terminal, a real teleop node, real services."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("pyte")
pytest.importorskip("textual")
import scene as scenes
from scene import SPACE
from terminal import Terminal

from rlt_ros.types import Mode, Phase

CONSOLE = ["ros2", "run", "rlt_ros", "console", "--ros-args", "-r", f"__ns:={SPACE}"]


class Scene(scenes.Scene):
    """With consoles."""

    def __init__(self) -> None:
        super().__init__()
        self.terminals: list[Terminal] = []

    def console(self, *parameters: str) -> Terminal:
        options = [part for parameter in parameters for part in ("-p", parameter)]
        self.terminals.append(Terminal([*CONSOLE, *options], self.env))
        return self.terminals[-1]

    def close(self) -> None:
        for terminal in self.terminals:
            terminal.close()
        super().close()


@pytest.fixture()
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()


def test_keys_change_the_mode_on_the_topic_and_the_answers_are_shown(scene: Scene) -> None:
    scene.start_teleop()
    view = scene.console()
    view.until(lambda: scene.tick() and "key test" in view.text, "the key test")
    view.press("b")
    view.until(lambda: scene.tick() and "came" in view.text, "the mark of the pressed key")
    view.press("\r")

    def wait(what, why: str) -> None:
        view.until(lambda: scene.tick() and what(), why)

    wait(lambda: f"{SPACE}/operator_status" in view.text and "HOLD" in view.text, "the view")
    wait(lambda: scene.mode is not None, "the operator's word")
    view.press("0")
    wait(lambda: scene.mode.phase == Phase.APPROACH and scene.mode.mode == Mode.VLA, "the approach after the reset")
    wait(lambda: "APPROACH" in view.text and "VLA" in view.text, "what it shows")
    view.press("b")
    wait(lambda: scene.mode.phase == Phase.CRITICAL, "the critical phase")
    view.press("r")
    wait(lambda: "RL refused: the gate is closed: 212 of 512 rows" in view.text, "the refusal")
    wait(lambda: "closed: 212 of 512 rows" in view.text and "CRITICAL 1" in view.text, "the gate")
    wait(lambda: "MOVE" in view.text, "the mode of the robot")
    view.press("h")
    wait(lambda: scene.mode.mode == Mode.HUMAN, "the person's turn")
    view.press("p")
    wait(lambda: "PAUSE" in view.text, "the pause")
    view.press("s")
    wait(lambda: scene.mode.phase == Phase.LABELLED, "the label")
    wait(lambda: scene.status.labels.tolist() == [1], "the label in the status")
    assert scene.mode.mode == Mode.HOLD and scene.status.paused
    assert 0.0 < scene.status.intervention_rate <= 1.0
    view.press("n")
    wait(lambda: scene.mode.phase == Phase.APPROACH and scene.mode.episode == 2, "the next episode")
    view.press(" ")
    wait(lambda: scene.mode.mode == Mode.HOLD, "the stop")
    assert scene.status.request == "mode_hold" and scene.status.accepted
    view.press("q")
    assert view.end() == 0
    assert view.attributes == view.before
    assert scene.teleop.poll() is None


def test_a_teleop_that_is_lost_is_said_and_a_new_one_is_found(scene: Scene) -> None:
    view = scene.console("key_test:=false")
    view.until(lambda: "NO TELEOP: nothing on /arm1/operator_status for" in view.text, "word of its absence")
    view.press(" ")
    view.until(lambda: "nobody answers /arm1/set_policy_mode: is teleop running?" in view.text, "the refusal")
    scene.start_teleop()
    view.until(lambda: scene.tick() and "NO TELEOP" not in view.text and "IDLE" in view.text, "the status")
    scene.teleop.send_signal(signal.SIGSTOP)
    view.until(lambda: "NO WORD FROM TELEOP for 2." in view.text, "word of its silence")
    view.press(" ")
    view.until(lambda: "stop: NO ANSWER within 2 s" in view.text, "word of the stop without an answer")
    scene.teleop.send_signal(signal.SIGCONT)
    view.until(lambda: scene.tick() and "NO WORD" not in view.text, "the end of the silence")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(scene: Scene, number: signal.Signals) -> None:
    view = scene.console()
    view.until(lambda: "key test" in view.text, "the key test")
    assert view.attributes != view.before
    view.process.send_signal(number)
    assert view.end() == 0
    assert view.attributes == view.before
    assert view.written.rindex(b"\x1b[?1049l") > view.written.rindex(b"\x1b[?1049h"), "the first screen is back"
    assert view.written.rindex(b"\x1b[?25h") > view.written.rindex(b"\x1b[?25l"), "the cursor is back"


def test_an_exception_gives_the_terminal_back_and_is_told(scene: Scene) -> None:
    code = (
        "from rlt_ros.operator.app import ConsoleApp; from rlt_ros.nodes.console import main;"
        "ConsoleApp.look = lambda self: 1 / 0; main()"
    )
    view = Terminal([sys.executable, "-c", code], scene.env)
    scene.terminals.append(view)
    assert view.end(60.0) == 1
    assert view.attributes == view.before
    assert b"ZeroDivisionError" in view.written[view.written.rindex(b"\x1b[?1049l") :]


def test_ctrl_c_is_a_key_that_quits(scene: Scene) -> None:
    view = scene.console()
    view.until(lambda: "key test" in view.text, "the key test")
    view.press("\x03")
    assert view.end() == 0
    assert view.attributes == view.before


def test_a_lost_connection_ends_it(scene: Scene) -> None:
    view = scene.console("key_test:=false")
    view.until(lambda: "presses" in view.text, "the view")
    view.hang_up()


def test_without_a_terminal_it_says_so_and_ends() -> None:
    done = subprocess.run(CONSOLE, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60)
    assert "console: stdin is no terminal" in done.stderr
    assert "ros2 run rlt_ros console" in done.stderr
    assert done.returncode == 2


def test_a_wrong_keys_file_and_a_missing_textual_are_refused_with_what_to_do(scene: Scene, tmp_path) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text("stop: [space]\nfly: [f]\n")
    view = scene.console(f"keys:={path}")
    assert view.end() == 2
    assert b"unknown action 'fly'" in view.written
    code = "import sys; sys.modules['textual'] = None; from rlt_ros.nodes.console import main; main()"
    bare = Terminal([sys.executable, "-c", code], scene.env)
    scene.terminals.append(bare)
    assert bare.end() == 2
    assert b"pip install 'rlt_ros[console]'" in bare.written
    assert bare.attributes == bare.before

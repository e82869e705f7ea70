"""The panel as a person uses it: a real browser, a real teleop node, real services."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nicegui")
from browser import Browser, View, browser, why_not
from panel_process import Panel
from scene import CAMERAS, Scene

from rlt_ros.types import Mode, Phase

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
TABLET, PHONE, DESKTOP = (800, 1280), (390, 700), (1280, 800)
RED, GREEN = (210, 40, 30), (20, 190, 60)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture()
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()


@pytest.fixture()
def start(scene: Scene, tmp_path: Path) -> Iterator[Callable[..., Panel]]:
    """Starts a panel and waits until it serves."""
    started: list[Panel] = []

    def begin(*parameters: str, serves: bool = True) -> Panel:
        panel = Panel(scene.env, tmp_path / f"panel{len(started)}.log", *parameters)
        started.append(panel)
        while serves and not panel.url:
            scene.tick()
        return panel

    yield begin
    for panel in started:
        panel.close()


@pytest.fixture()
def view(scene: Scene, start: Callable[..., Panel], chromium: Browser) -> View:
    """The page, with a teleop node that is up."""
    scene.start_teleop()
    opened = chromium.open(start().url, scene.tick)
    opened.until(lambda: opened.part("mode") == "HOLD" and scene.mode is not None, "the status")
    return opened


def split(left: tuple[int, int, int], right: tuple[int, int, int]) -> np.ndarray:
    picture = np.full((120, 160, 3), left, np.uint8)
    picture[:, 80:] = right
    return picture


def test_buttons_change_the_mode_on_the_topic_and_the_answers_are_shown(
    scene: Scene, view: View, start: Callable[..., Panel], chromium: Browser
) -> None:
    assert "it has begun" not in view.part("begin") and "reset first" in view.part("begin")
    view.press("failure")
    view.shows("failure refused: no critical phase is under way (IDLE)", where="#answers")
    view.press("reset")
    view.until(lambda: scene.mode.phase == Phase.APPROACH and scene.mode.mode == Mode.VLA, "the approach")
    view.until(lambda: view.part("phase") == "APPROACH" and view.part("drives") == "VLA", "what is shown of it")
    view.press("begin")
    view.until(lambda: scene.mode.phase == Phase.CRITICAL, "the critical phase")
    view.shows("CRITICAL 1", where="[data-part=phase]")
    assert "gate closed: 212 of 512 rows" in view.part("rl")
    view.press("rl")
    view.shows("RL refused: the gate is closed: 212 of 512 rows", where="#answers")
    view.press("human")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HUMAN, "the person's turn")
    view.press("pause")
    view.shows("PAUSE", where="[data-part=episode]")
    view.press("success")
    view.until(lambda: scene.mode.phase == Phase.LABELLED, "the label")
    view.shows("phase 1: SUCCESS, success 100%, helped", where="[data-part=caption]")
    view.shows("212", "40", "closed: 212 of 512 rows", "MOVE", where="[data-part=learning]")
    view.shows("100 %", "S", "robot", where="[data-part=session]")
    view.press("next")
    view.until(lambda: scene.mode.phase == Phase.APPROACH and scene.mode.episode == 2, "the next episode")
    view.press("stop")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HOLD, "the stop")
    view.shows("stop: the arm holds", where="#answers")
    view.shows("to anyone: stop: the arm holds", where="[data-part=last]")
    view.page.reload()
    view.shows("phase 1: SUCCESS, success 100%, helped", where="[data-part=caption]")
    later = chromium.open(start().url, scene.tick)
    later.shows("phase 1: SUCCESS, success 100%, helped", where="[data-part=caption]")
    view.until(lambda: view.page.locator(".curve canvas").count(), "the drawn curve")
    assert (view.elsewhere, view.errors) == ([], [])


def test_keys_do_what_buttons_do_and_held_ones_count_once(scene: Scene, view: View) -> None:
    keyboard = view.page.keyboard
    keyboard.press("0")
    view.until(lambda: scene.mode.phase == Phase.APPROACH, "the approach")
    for _ in range(20):
        keyboard.down("b")  # the second and later ones are repetitions
        scene.tick()
    keyboard.up("b")
    view.until(lambda: scene.mode.phase == Phase.CRITICAL, "the critical phase")
    view.shows("begin: critical phase 1 begins", where="#answers")
    assert "counted once" not in view.text() and scene.status.answers == 2
    # What has the focus is not pressed by the space bar, which is stop.
    view.page.locator("[data-press=success]").focus()
    keyboard.press("Space")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HOLD, "the stop")
    assert scene.mode.phase == Phase.CRITICAL
    answers = scene.status.answers
    for _ in range(60):
        keyboard.down("Space")
        scene.tick()
    keyboard.up("Space")
    view.until(lambda: scene.status.answers >= answers + 3, "stop again while it is held")
    keyboard.press("Control+v")
    view.page.evaluate("document.body.append(Object.assign(document.createElement('input'), {id: 'typed'}))")
    view.page.locator("#typed").press_sequentially("vsx ")
    assert view.page.locator("#typed").input_value() == "vsx "
    view.page.evaluate("document.getElementById('typed').remove()")
    keyboard.press("?")
    view.shows("the VLA drives", where="#card")
    keyboard.press("x")
    view.shows("discard: critical phase 1: DISCARD", where="#answers")
    assert scene.status.request == "discard"
    assert [word.mode for word in scene.listener.received["/arm1/policy_mode"][-20:]] == [Mode.HOLD] * 20


def test_a_held_finger_on_stop_sends_it_again_and_a_second_tap_counts_once(scene: Scene, view: View) -> None:
    view.page.locator("#stop").hover()
    view.page.mouse.down()
    view.until(lambda: scene.status.answers >= 5, "stop after stop")
    view.page.mouse.up()
    view.page.locator("[data-press=human]").dblclick()
    view.shows("human: pressed again within 0.7 s, counted once", where="#answers")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HUMAN, "the person's turn")
    # A finger that is let go ends it.
    assert scene.mode.mode == Mode.HUMAN


@pytest.mark.parametrize("size", [DESKTOP, TABLET, PHONE])
def test_stop_is_in_sight_whatever_is_scrolled(
    scene: Scene, start: Callable[..., Panel], chromium: Browser, size: tuple[int, int]
) -> None:
    view = chromium.open(start().url, scene.tick, size, has_touch=True)
    view.shows("NO TELEOP: nothing on /arm1/operator_status for")
    on_top = "([x, y]) => document.elementFromPoint(x, y)?.closest('#stop') !== null"
    for place in ("0", "document.body.scrollHeight"):
        view.page.evaluate(f"window.scrollTo(0, {place})")
        box = view.page.locator("#stop").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= size[0]
        assert box["y"] >= 0 and box["y"] + box["height"] <= size[1]
        assert box["width"] >= 150 and box["height"] >= 80
        assert view.page.evaluate(on_top, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    assert view.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for button in view.page.locator("[data-press]").all():
        box = button.bounding_box()
        assert box["width"] >= 80 and box["height"] >= 80
    view.page.locator("#stop").tap()
    view.shows("nobody answers /arm1/set_policy_mode: is teleop running?", where="#answers")


def test_the_pictures_are_the_cameras_own_and_an_old_one_says_so(scene: Scene, view: View) -> None:
    names = list(CAMERAS)
    view.shows(*(f"no picture on {topic}" for topic in CAMERAS.values()))
    scene.pictures = {name: split(RED, GREEN) for name in names} | {names[-1]: split(GREEN, RED)}

    def shown(camera: str, color: tuple[int, int, int]) -> bool:
        width, height, *pixel, _ = view.pixel(camera)
        return (width, height) == (160, 120) and bool(np.abs(np.subtract(pixel, color)).max() < 12)

    view.until(lambda: shown(names[0], RED) and shown(names[-1], GREEN), "the pictures")
    view.until(lambda: "old" not in view.text(".cameras"), "no word of age")
    scene.pictures[names[0]] = split(GREEN, GREEN)
    view.until(lambda: shown(names[0], GREEN), "the next picture")
    del scene.pictures[names[0]]
    view.shows("s old", where=f"[data-camera={names[0]}]")
    assert view.page.locator(f"[data-camera={names[0]}].aged").count() == 1
    assert view.page.locator(f"[data-camera={names[-1]}].aged").count() == 0
    assert view.errors == []


def test_a_silent_teleop_is_said_and_so_is_a_press_without_an_answer(scene: Scene, view: View) -> None:
    scene.teleop.send_signal(signal.SIGSTOP)
    view.shows("NO WORD FROM TELEOP for 2.", where="[data-part=banner]")
    assert view.page.locator("#panel.old").count() == 1
    view.press("stop")
    view.shows("stop: NO ANSWER within 2 s", where="#answers")
    scene.teleop.send_signal(signal.SIGCONT)
    view.until(lambda: view.part("banner") == "" and not view.page.locator("#panel.old").count(), "the status again")


def test_a_page_without_its_panel_says_so_and_that_stop_does_not_work(
    scene: Scene, view: View, start: Callable[..., Panel], chromium: Browser
) -> None:
    panel = start()
    port = f"port:={panel.port}"
    other = chromium.open(panel.url, scene.tick, TABLET)
    other.until(lambda: other.part("mode") == "HOLD", "the status")
    panel.send(signal.SIGSTOP)
    other.shows("NO CONNECTION TO THE PANEL", "STOP DOES NOT WORK FROM HERE", where="#lost")
    assert other.page.locator("#lost").bounding_box()["height"] > 900
    panel.send(signal.SIGCONT)
    other.until(lambda: not other.text("#lost"), "the connection again")
    panel.send(signal.SIGKILL)
    other.shows("NO CONNECTION TO THE PANEL", where="#lost")
    other.press("stop")
    other.shows("stop: NOT SENT, no connection to the panel", where="#answers")
    other.page.keyboard.press("b")
    other.shows("begin: NOT SENT, no connection to the panel", where="#answers")
    # Another browser at another panel goes on; a panel that is started again is found.
    assert view.text("#lost") == ""
    start(port)
    other.until(lambda: not other.text("#lost") and other.part("mode") == "HOLD", "the new panel")
    other.press("human")
    other.until(lambda: scene.mode and scene.mode.mode == Mode.HUMAN, "the person's turn")
    view.until(lambda: view.part("mode") == "HUMAN", "the other view's word of it")


def test_a_page_whose_framework_hangs_says_so_and_stop_still_works(scene: Scene, view: View) -> None:
    view.press("human")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HUMAN, "the person's turn")
    view.page.evaluate("window.socket.disconnect()")
    warning = "getComputedStyle(document.body, '::before').content"
    view.until(lambda: "NOT BEING UPDATED" in view.page.evaluate(warning), "word of it")
    view.press("stop")
    view.until(lambda: scene.mode and scene.mode.mode == Mode.HOLD, "the stop")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_somebody_looks(
    scene: Scene, start: Callable[..., Panel], chromium: Browser, number: signal.Signals
) -> None:
    panel = start()
    view = chromium.open(panel.url, scene.tick)
    view.shows("NO TELEOP")
    panel.send(number)
    assert panel.end() == 0, panel.said
    assert "Traceback" not in panel.said


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ("port:={taken}", "port {taken} on 127.0.0.1 is taken; is another panel running?"),
        ("port:=high", "'port'"),
        ("token:=short", "token has 5 characters; expected 8 or more"),
        ("token:=1234567890", "'token'"),
        ("camera_rate:=0.0", "Parameter camera_rate out of range Min: 0.1, Max: 30.0, value: 0.0"),
        ("keys:={file}", "unknown action 'fly'"),
        ("robot_config:=nowhere", "robot config nowhere: no such file"),
        ("host:=192.0.2.7", "cannot listen on 192.0.2.7"),
    ],
)
def test_what_cannot_be_used_is_said_with_exit_code_2(
    scene: Scene, start: Callable[..., Panel], tmp_path: Path, parameter: str, said: str
) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text("stop: [space]\nfly: [f]\n")
    values = {"file": file, "taken": start().port if "taken" in parameter else 0}
    panel = start(parameter.format(**values), serves=False)
    assert panel.end() == 2, panel.said
    assert "panel: " in panel.said and said.format(**values) in panel.said
    assert "Traceback" not in panel.said


def test_without_nicegui_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['nicegui'] = None; from rlt_ros.nodes.panel import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (2, "panel: NiceGUI is missing: pip install 'rlt_ros[panel]'")

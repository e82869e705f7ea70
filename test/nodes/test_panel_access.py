"""Who gets into a panel that others can reach: pages, websockets, pictures and presses, over real connections."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("nicegui")
pytest.importorskip("websockets")
from browser import browser, why_not
from panel_process import Panel
from scene import CAMERAS, Scene
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection as Connection
from websockets.sync.client import connect

from rlt_ros.types import Mode

PATHS = ["/", "/static/panel.js", f"/picture/{next(iter(CAMERAS))}", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    made = Scene()
    made.start_teleop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def start(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Panel]]:
    started: list[Panel] = []

    def begin(*parameters: str) -> Panel:
        panel = Panel(scene.env, tmp_path_factory.mktemp("panel") / "log", *parameters)
        started.append(panel)
        while not panel.url:
            scene.tick()
        return panel

    yield begin
    for panel in started:
        panel.close()


@pytest.fixture(scope="module")
def reachable(start: Callable[..., Panel]) -> Panel:
    """Listens on every address."""
    return start("host:=0.0.0.0")


@pytest.fixture(scope="module")
def local(start: Callable[..., Panel]) -> Panel:
    """Listens on this machine alone."""
    return start()


def ask(panel: Panel, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", panel.port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return connection.getresponse()


def websocket_status(panel: Panel, path: str, **headers: str) -> int:
    origin = headers.pop("Origin", None)
    try:
        with connect(f"ws://127.0.0.1:{panel.port}{path}", origin=origin, additional_headers=headers):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def own(panel: Panel) -> str:
    return f"http://127.0.0.1:{panel.port}"


def test_without_the_token_every_page_picture_and_websocket_is_refused(reachable: Panel) -> None:
    for path in PATHS:
        answer = ask(reachable, path)
        assert answer.status == 401, path
        assert "asks for its token" in answer.read().decode()
    assert ask(reachable, "/?token=wrong-but-long-enough").status == 401
    assert ask(reachable, "/stop", "POST", Origin=own(reachable)).status == 401
    for path in ("/line", "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"):
        assert websocket_status(reachable, path, Origin=own(reachable)) == 403


def test_the_token_opens_it_and_is_left_nowhere(reachable: Panel) -> None:
    query = urlsplit(reachable.url).query
    assert query.startswith("token=")
    welcome = ask(reachable, f"/?{query}")
    cookie = welcome.getheader("set-cookie")
    assert welcome.status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert query.removeprefix("token=") not in cookie + welcome.read().decode()
    assert welcome.getheader("referrer-policy") == "no-referrer"
    shown = cookie.split(";")[0]
    for path in PATHS:
        assert ask(reachable, path, Cookie=shown).status in (200, 204), path
    assert websocket_status(reachable, "/line", Origin=own(reachable), Cookie=shown) == 101
    assert query.removeprefix("token=") not in reachable.said.replace(reachable.url, "")


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_browser_with_the_token_gets_in_and_one_without_does_not(
    scene: Scene, reachable: Panel, tmp_path: Path
) -> None:
    with browser(tmp_path) as chromium:
        stranger = chromium.open(reachable.here)
        assert stranger.answer.status == 401
        view = chromium.open(f"{reachable.here}?{urlsplit(reachable.url).query}", scene.tick)
        view.until(lambda: view.part("mode") in {mode.name for mode in Mode}, "the status")
        assert view.page.url == reachable.here
        assert view.page.evaluate("document.cookie") == ""
        assert view.page.evaluate("history.length") <= 2
        view.press("human")
        view.until(lambda: scene.mode and scene.mode.mode == Mode.HUMAN, "the person's turn")
        view.press("stop")
        view.until(lambda: scene.mode and scene.mode.mode == Mode.HOLD, "the stop")
        assert (view.elsewhere, view.errors) == ([], [])


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null"])
def test_another_sites_presses_are_refused(scene: Scene, local: Panel, origin: str) -> None:
    answer = ask(local, "/stop", "POST", Origin=origin)
    assert answer.status == 403
    assert origin in answer.read().decode()
    assert websocket_status(local, "/line", Origin=origin) == 403
    assert websocket_status(local, "/_nicegui_ws/socket.io/?EIO=4&transport=websocket", Origin=origin) == 403
    assert ask(local, "/stop", "POST").status == 403
    assert websocket_status(local, "/line") == 403
    assert websocket_status(local, "/line", Origin=own(local)) == 101


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8090", "127.0.0.1.evil.example"])
def test_another_name_for_this_machine_is_refused(local: Panel, host: str) -> None:
    for path in PATHS:
        assert ask(local, path, Host=host).status == 403, path
    assert ask(local, "/", Host=f"localhost:{local.port}").status == 200


def test_no_other_page_may_frame_it_and_it_loads_nothing_from_elsewhere(local: Panel) -> None:
    answer = ask(local, "/")
    policy = answer.getheader("content-security-policy")
    assert "frame-ancestors 'none'" in policy and "default-src 'self'" in policy
    assert answer.getheader("x-frame-options") == "DENY"
    assert answer.getheader("cache-control") == "no-store"
    assert ask(local, "/docs").status == 404 and ask(local, "/openapi.json").status == 404


def test_a_stop_by_post_is_answered(scene: Scene, local: Panel) -> None:
    said = b""
    end = time.monotonic() + 60.0
    while b"stop: the arm holds" not in said:  # it may not have found teleop yet
        assert time.monotonic() < end, said
        answer = ask(local, "/stop", "POST", Origin=own(local))
        assert answer.status == 200
        said = answer.read()
        scene.tick()


def told(line: Connection) -> dict[str, str]:
    """The next answer; signs of life are passed over."""
    while "text" not in (said := json.loads(line.recv(20))):
        assert set(said) <= {"beat", "panel"}
    return said


def test_what_is_no_press_and_no_camera_is_said(local: Panel) -> None:
    with connect(f"ws://127.0.0.1:{local.port}/line", origin=own(local)) as line:
        for nonsense in ("explode 1.0", "", b"\xff\xfe", "quit", "x" * 100_000):
            line.send(nonsense)
            assert "is no press" in told(line)["text"]
    answer = ask(local, "/picture/nowhere")
    assert answer.status == 404 and b"cameras are" in answer.read()
    assert ask(local, f"{PATHS[2]}?after=x").status == 422


def test_a_press_that_was_long_on_its_way_is_not_taken_but_a_stop_is(scene: Scene, local: Panel) -> None:
    with connect(f"ws://127.0.0.1:{local.port}/line", origin=own(local)) as line:
        beat = json.loads(line.recv(20))["beat"]
        line.send(f"human {float(beat) - 7.0}")
        assert told(line)["text"] == "human: NOT TAKEN, it was 7 s on its way"
        for odd in ("human", "human now", "human nan"):
            line.send(odd)
            assert "NOT TAKEN" in told(line)["text"]
        line.send(f"stop {float(beat) - 7.0}")
        assert told(line)["action"] == "stop"
        line.send(f"human {beat}")
        assert "NOT TAKEN" not in told(line)["text"]

"""The web server of the panel, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI, HTTPException, Response, WebSocket
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from rlt_ros.operator.keys import STOP
from rlt_ros.operator.panel.access import Access
from rlt_ros.operator.panel.address import Listening
from rlt_ros.operator.panel.guard import Guard
from rlt_ros.operator.panel.line import Line
from rlt_ros.operator.panel.page import add_page
from rlt_ros.operator.panel.parts import Panel
from rlt_ros.operator.panel.pictures import Picture
from rlt_ros.operator.presses import Presses

STATIC = Path(__file__).with_name("static")
PATIENCE = 1
"""s that open connections have to end."""


def application(panel: Panel) -> FastAPI:
    """Page, pictures and the way of the presses. NiceGUI allows for one in a process."""
    # Without the pages about itself, which load their scripts from elsewhere.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.websocket("/line")
    async def line(socket: WebSocket) -> None:
        await Line(socket, panel.client, panel.name).serve()

    @app.post("/stop")
    async def stop() -> dict[str, str]:
        """For a page whose line is just broken."""
        told: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        presses = Presses(panel.client, lambda action, text, mood: told.set_result({"text": text, "mood": mood}))
        presses.press(STOP)
        return await told

    # Not `async`: a picture is made in a thread, beside the presses.
    @app.get("/picture/{camera}")
    def picture(camera: str, after: int = 0) -> Response:
        if camera not in panel.pictures.names:
            raise HTTPException(404, f"no camera {camera!r}; cameras are {', '.join(panel.pictures.names)}")
        return _answer(panel.pictures.newest(camera, after))

    app.mount("/static", StaticFiles(directory=STATIC))
    add_page(panel)
    icon = STATIC / "icon.svg"
    ui.run_with(app, title="rlt_ros panel", dark=True, tailwind=False, show_welcome_message=False, favicon=icon)
    return app


def _answer(picture: Picture) -> Response:
    # Headers are one line of ASCII.
    problem = " ".join(picture.problem.encode("ascii", "replace").decode().split())
    age = "" if picture.age is None else f"{picture.age:.3f}"
    headers = {"x-number": str(picture.number), "x-age": age, "x-problem": problem}
    if not picture.jpeg:
        return Response(status_code=204, headers=headers)
    return Response(picture.jpeg, media_type="image/jpeg", headers=headers)


class Server:
    """Serves an application on a bound socket until it is closed."""

    def __init__(self, panel: Panel, listening: Listening) -> None:
        guard = Guard(application(panel), Access(listening.token, listening.port))
        config = uvicorn.Config(
            guard,
            lifespan="on",
            log_level="warning",
            access_log=False,  # it would write the token into a log
            proxy_headers=False,
            server_header=False,
            ws_ping_interval=5.0,
            ws_ping_timeout=5.0,
            timeout_graceful_shutdown=PATIENCE,
        )
        self._server, self._socket = uvicorn.Server(config), listening.sock
        # Not the main thread: there uvicorn would take the signals.
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    @property
    def lives(self) -> bool:
        """False once it has ended, by `close` or by an error that it has printed."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End it; whoever is connected is told."""
        self._server.should_exit = True
        self._thread.join(PATIENCE + 2.0)

    def _run(self) -> None:
        with suppress(SystemExit):
            self._server.run(sockets=[self._socket])

"""The panel's own line to a browser: presses one way, answers and a heartbeat the other.

A websocket of its own, so that no press waits for a page update, a picture or a free connection of the browser, and a
page notices by itself that nobody hears it any more. A press carries the last sign of life that its page had: what lay
in a broken network until it was mended is not what the person wants now.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from rlt_ros.operator.client import Client
from rlt_ros.operator.keys import REQUESTS, STOP
from rlt_ros.operator.presses import Presses

BEAT = 0.5
"""s between two signs of life; the page waits for four of them."""
LATE = 3.0
"""s since the sign of life that a press carries, beyond which it is not taken; a stop always is."""


class Line:
    """One browser. panel: name of this process.

    To the page goes a `beat` every `BEAT` seconds, at first with `panel`, later with an answer as `action`, `text`,
    `mood` and `at`. From it comes `ACTION BEAT`, with the newest beat that it has heard.
    """

    def __init__(self, socket: WebSocket, client: Client, panel: str) -> None:
        self._socket, self._panel = socket, panel
        self._presses = Presses(client, self._say)
        self._out: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def serve(self) -> None:
        """Until the browser is gone."""
        await self._socket.accept()
        sending = asyncio.create_task(self._send())
        try:
            while (message := await self._socket.receive())["type"] == "websocket.receive":
                self._take(message.get("text") or "")
        finally:
            sending.cancel()
            self._presses.close()

    def _take(self, press: str) -> None:
        action, _, beat = press.partition(" ")
        if action not in REQUESTS:
            self._say(action[:20], f"{action[:20]!r} is no press", "bad")
        elif action == STOP or _age(beat) <= LATE:
            self._presses.press(action)
        else:
            self._say(action, f"{action}: NOT TAKEN, it was {_age(beat):.0f} s on its way", "bad")

    def _say(self, action: str, text: str, mood: str) -> None:
        self._out.put_nowait({"action": action, "text": text, "mood": mood, "at": time.strftime("%H:%M:%S")})

    async def _send(self) -> None:
        # The only sender: a browser that does not read holds up its own answers, never its presses.
        message: dict[str, str] = {"panel": self._panel}
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._socket.send_json({**message, "beat": f"{time.monotonic():.2f}"})
                try:
                    message = await asyncio.wait_for(self._out.get(), BEAT)
                except asyncio.TimeoutError:  # noqa: UP041 - not the same in Python 3.10
                    message = {}


def _age(beat: str) -> float:
    try:
        return time.monotonic() - float(beat)
    except ValueError:
        return float("inf")

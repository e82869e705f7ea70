"""The panel's own line to a browser: presses one way, answers and a heartbeat the other.

A websocket of its own, so that no press waits for a page update, a picture or a free connection of the browser, and a
page notices by itself that nobody hears it any more.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from rlt_ros.operator.client import Client
from rlt_ros.operator.keys import REQUESTS
from rlt_ros.operator.presses import Presses

BEAT = 0.5
"""s between two signs of life; the page waits for four of them."""


class Line:
    """One browser. panel: a name of this process, so that a page knows one that was started again."""

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

    def _take(self, action: str) -> None:
        if action in REQUESTS:
            self._presses.press(action)
        else:
            self._say(action[:20], f"{action[:20]!r} is no press", "bad")

    def _say(self, action: str, text: str, mood: str) -> None:
        self._out.put_nowait({"action": action, "text": text, "mood": mood, "at": time.strftime("%H:%M:%S")})

    async def _send(self) -> None:
        # The only sender: a browser that does not read holds up its own answers, never its presses.
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._socket.send_json({"panel": self._panel})
            while True:
                with suppress(asyncio.TimeoutError):
                    await self._socket.send_json(await asyncio.wait_for(self._out.get(), BEAT))
                    continue
                await self._socket.send_json({})

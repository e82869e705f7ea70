"""Stands before the whole web application, websockets included, and lets in whom `access` lets in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from rlt_ros.operator.panel.access import Access, Verdict, Visit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HEADERS = {
    # Nothing from elsewhere, in no frame; Vue builds functions from the page's templates.
    "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
# The page goes there by itself: after a redirect, a browser that came from another site would not send a strict cookie.
# `replace` leaves no entry in its history.
_WELCOME = "<!doctype html><title>rlt_ros panel</title><script>location.replace('/')</script>"


class Guard:
    """ASGI middleware."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], access: Access) -> None:
        self.app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or answer here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        verdict = self._access.judge(_visit(scope))
        if verdict.status == 200 and not verdict.cookie:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": verdict.text})
        else:
            await _answer(verdict, _with_headers(send))


def _visit(scope: Scope) -> Visit:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        text = value.decode("latin-1")
        key = name.decode("latin-1").lower()
        # A browser may send cookies in several lines; of other headers two would be two opinions.
        headers[key] = f"{headers[key]}; {text}" if key in headers else text
    method = scope["method"] if scope["type"] == "http" else "WEBSOCKET"
    return Visit(method, scope["path"], scope["query_string"].decode("latin-1"), headers)


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            more = HEADERS if b"cache-control" in names else {**HEADERS, "cache-control": "no-store"}
            message = {**message, "headers": given + [(k.encode(), v.encode()) for k, v in more.items()]}
        await send(message)

    return sending


async def _answer(verdict: Verdict, send: Send) -> None:
    title = HTTPStatus(verdict.status).phrase
    body = (_WELCOME if verdict.cookie else f"{title}: {verdict.text}\n").encode()
    headers = {
        "content-type": f"text/{'html' if verdict.cookie else 'plain'}; charset=utf-8",
        "content-length": str(len(body)),
        **({"set-cookie": verdict.cookie} if verdict.cookie else {}),
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": verdict.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})

"""A client's connection to a VLA server: hello, one question at a time, time-out, back-off, connecting again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

try:
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ImportError as error:
    raise ImportError("websockets is missing: pip install 'rlt_ros[remote]'") from error

from rlt_ros.vla.contract import VLAUnavailable
from rlt_ros.vla.remote.config import RemoteConfig
from rlt_ros.vla.remote.secret import answer
from rlt_ros.vla.remote.wire import LARGEST, PROTOCOL, ProtocolError, Terms, field, pack, unpack

FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
"""Seconds between attempts to connect: doubled after each that fails."""


class VLARefused(VLAUnavailable):
    """The server and this client do not fit: protocol, secret or the VLA itself. Waiting does not help."""


class Link:
    """One connection, kept; any thread may ask. A failure drops it, and the next question connects again.

    Between attempts questions fail at once, so that a caller with fresh observations never waits behind stale ones.
    """

    def __init__(self, config: RemoteConfig, secret: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self._secret, self._clock = secret, clock
        self._lock = threading.Lock()
        self._socket: ClientConnection | None = None
        self._held = ExitStack()  # newer versions of websockets connect as a context only
        self._terms: Terms | None = None
        self._number, self._wait, self._retry_at = 0, FIRST_WAIT, 0.0

    def terms(self) -> Terms:
        """What the server said of its VLA; waits up to `patience` for it. Raises VLAUnavailable."""
        until = self._clock() + self.config.patience
        while True:
            try:
                with self._lock:
                    self._connected()
                return self._terms
            except VLARefused:
                raise
            except VLAUnavailable:
                if self._clock() >= until:
                    raise
            time.sleep(min(self._wait, max(until - self._clock(), 0.0)))

    def ask(self, kind: str, answer: str, **content: Any) -> dict[str, Any]:
        """The answer to a question, a message of type `answer`.

        Raises ValueError with the server's text if it does not like the input, VLAUnavailable otherwise.
        """
        with self._lock:
            socket = self._connected()
            self._number += 1
            try:
                socket.send(pack(kind, id=self._number, **content))
                reply = unpack(socket.recv(timeout=self.config.timeout))
                _check(reply, answer, self._number)
            except _Rejected as error:
                raise ValueError(str(error)) from None
            except (OSError, WebSocketException, ProtocolError) as error:
                raise self._failed(error) from error
            self._wait = FIRST_WAIT
            return reply

    def close(self) -> None:
        """Leave the server; a later question connects again."""
        with self._lock:
            self._drop()

    def _connected(self) -> ClientConnection:
        if self._socket is not None:
            return self._socket
        if self._clock() < self._retry_at:
            raise VLAUnavailable(f"{self.config.url}: no connection; trying again in a moment")
        try:
            self._socket = self._open()
            self._greet(self._socket)
        except (OSError, WebSocketException, ProtocolError, VLARefused) as error:
            raise self._failed(error) from error
        return self._socket

    def _open(self) -> ClientConnection:
        limits = {"open_timeout": self.config.connect_timeout, "close_timeout": 0.2, "max_size": LARGEST}
        alive = {"ping_interval": 5, "ping_timeout": 5}
        return self._held.enter_context(connect(self.config.url, compression=None, proxy=None, **limits, **alive))

    def _greet(self, socket: ClientConnection) -> None:
        challenge = self._receive(socket)
        if challenge.get("protocol") != PROTOCOL:
            raise VLARefused(f"protocol: {PROTOCOL!r} here, {challenge.get('protocol')!r} there")
        mac = answer(self._secret, field(challenge, "nonce", bytes))
        socket.send(pack("hello", protocol=PROTOCOL, mac=mac))
        welcome = self._receive(socket)
        if welcome["type"] != "welcome":
            raise VLARefused(str(welcome.get("text", welcome["type"])))
        self._agree(Terms.from_message(welcome))

    def _receive(self, socket: ClientConnection) -> dict[str, Any]:
        return unpack(socket.recv(timeout=self.config.connect_timeout))

    def _agree(self, terms: Terms) -> None:
        wanted = self._terms.identity if self._terms else self.config.identity
        if wanted and terms.identity != wanted:
            raise VLARefused(f"identity of the VLA: {wanted!r} here, {terms.identity!r} there")
        self._terms = terms

    def _failed(self, error: Exception) -> VLAUnavailable:
        self._drop()
        self._retry_at = self._clock() + self._wait
        self._wait = min(2.0 * self._wait, LONGEST_WAIT)
        kind = VLARefused if isinstance(error, VLARefused) else VLAUnavailable
        return kind(f"{self.config.url}: {error or type(error).__name__}")

    def _drop(self) -> None:
        self._socket = None
        with suppress(OSError, WebSocketException):
            self._held.close()


class _Rejected(Exception):
    """The server's text about input that it cannot use."""


def _check(reply: dict[str, Any], wanted: str, number: int) -> None:
    if reply["type"] == "error" and reply.get("code") == "input":
        raise _Rejected(str(reply.get("text")))
    if reply["type"] == "error":
        raise ProtocolError(f"{reply.get('code')} error of the server: {reply.get('text')}")
    if reply["type"] != wanted or reply.get("id") != number:
        raise ProtocolError(f"answer {reply['type']} {reply.get('id')}; expected {wanted} {number}")

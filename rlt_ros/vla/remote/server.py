"""The VLA server on the network: several clients, one pass at a time, each client only with the secret."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

try:
    from websockets.asyncio.server import Server, ServerConnection, serve
    from websockets.exceptions import ConnectionClosed
except ImportError as error:
    raise ImportError("websockets is missing: pip install 'rlt_ros[remote]'") from error

from rlt_ros.vla.remote.secret import VARIABLE, proven
from rlt_ros.vla.remote.service import Service
from rlt_ros.vla.remote.wire import PROTOCOL, ProtocolError, field, pack, unpack

GREETING = 5.0
"""Seconds that a client has for its hello."""


class VLAServer:
    """Serves a VLA until it is told to stop.

    secret: empty only on the loopback interface. show: takes a line about what happens.
    """

    def __init__(self, service: Service, secret: bytes, show: Callable[[str], None]) -> None:
        self._service, self._secret, self._show = service, secret, show
        # One thread: a GPU has one pass at a time, and clients wait their turn in the order of their questions.
        self._passes = ThreadPoolExecutor(1, thread_name_prefix="passes")

    async def run(self, host: str, port: int, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. port 0: any that is free. Raises OSError if it cannot be bound."""
        check_host(host, self._secret)
        # Only programs: a page in a browser names its origin and is refused.
        options = {"origins": [None], "compression": None, "close_timeout": 1.0}
        options["max_size"] = self._service.largest_question
        async with serve(self._client, host, port, ping_interval=10, ping_timeout=10, **options) as server:
            self._show(f"{self._service.terms.backend} VLA {self._service.terms.identity} at {address(server)}")
            await stop.wait()
        self._passes.shutdown()

    async def _client(self, socket: ServerConnection) -> None:
        name = "{}:{}".format(*socket.remote_address[:2])
        with suppress(ConnectionClosed):
            refusal = await self._greet(socket)
            if refusal:
                self._show(f"client {name} refused: {refusal}")
                await socket.send(pack("error", id=0, code="refused", text=refusal))
                return
            self._show(f"client {name}")
            await socket.send(self._service.welcome())
            await self._answer(socket)
        self._show(f"client {name} gone")

    async def _greet(self, socket: ServerConnection) -> str:
        """Empty, or why the client may not come in."""
        nonce = secrets.token_bytes(32)
        await socket.send(pack("challenge", protocol=PROTOCOL, nonce=nonce))
        try:
            hello = unpack(await asyncio.wait_for(socket.recv(), GREETING))
            mac = field(hello, "mac", bytes)
        except (ProtocolError, asyncio.TimeoutError) as error:  # noqa: UP041 (two kinds in Python 3.10)
            return f"hello: {error or 'none came'}"
        if hello.get("protocol") != PROTOCOL:
            return f"protocol: {PROTOCOL!r} here, {hello.get('protocol')!r} there"
        if proven(self._secret, nonce, mac):
            return ""
        return "secret: not the server's" if mac else f"secret: none given; {VARIABLE} or token_file has to have it"

    async def _answer(self, socket: ServerConnection) -> None:
        loop = asyncio.get_running_loop()
        async for data in socket:
            await socket.send(await loop.run_in_executor(self._passes, self._service.reply, data))


def check_host(host: str, secret: bytes) -> None:
    """Raise ValueError where whoever reaches the port could use the VLA without a secret."""
    if not secret and not is_loopback(host):
        raise ValueError(f"host is {host}, which others can reach; name a --token-file, or bind to 127.0.0.1")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host; a name other than localhost is taken for one that others reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address(server: Server) -> str:
    """URL of the first socket of a server."""
    host, port = server.sockets[0].getsockname()[:2]
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"

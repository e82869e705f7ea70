"""Where the panel listens, and what a person types to get there."""

from __future__ import annotations

import errno
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import urlencode

PORT = 8090
"""8080 is that of web_video_server, 8765 that of foxglove_bridge, 9090 that of rosbridge."""
SHORTEST = 8
"""Characters of a token that a person chose."""
ANYWHERE = ("0.0.0.0", "::")
_NOWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Documentation addresses: asking for the way there sends nothing."""


@dataclass(frozen=True)
class Listening:
    """A bound socket, and the token that whoever comes must have; empty: none."""

    sock: socket.socket
    token: str

    @property
    def port(self) -> int:
        """TCP port."""
        return int(self.sock.getsockname()[1])

    @property
    def url(self) -> str:
        """What to open, token included."""
        address = self.sock.getsockname()[0]
        shown = _way_out(self.sock.family) if address in ANYWHERE else address
        host = f"[{shown}]" if ":" in shown else shown
        query = "?" + urlencode({"token": self.token}) if self.token else ""
        return f"http://{host}:{self.port}/{query}"


def listen(host: str, port: int, token: str) -> Listening:
    """Bind to a name or an address; port 0: any that is free. Off this machine, and wherever a token is given, a token
    is asked for: the given one, else one drawn at random.

    Raises ValueError with host, port and what to do.
    """
    if token and len(token) < SHORTEST:
        raise ValueError(f"token has {len(token)} characters; expected {SHORTEST} or more, or none for a random one")
    if not 0 <= port <= 65535:
        raise ValueError(f"port is {port}; expected 0 to 65535")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise ValueError(f"host {host!r} is no address of this machine: {error}") from error
    here = ipaddress.ip_address(address[0].split("%")[0]).is_loopback
    return Listening(_bound(family, address, host, port), token or ("" if here else secrets.token_urlsafe(16)))


def _bound(family: int, address: tuple, host: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    # A panel that is started again need not wait for the connections of the one before.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(address)
        sock.listen()
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            why = f"port {port} on {host} is taken; is another panel running? -p port:=N takes another"
            raise ValueError(why) from error
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return sock


def _way_out(family: int) -> str:
    """The address by which other machines reach this one, or its name."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_NOWHERE[family], 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()

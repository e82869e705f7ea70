"""Who may use the panel: the rules, as a function of what a browser says of itself.

A token in a cookie, and three attacks that a panel on a local address invites: a foreign page that posts or opens a
websocket (Origin), one that has its own name resolved to this machine (Host), one that frames the panel and has the
person click on it (the headers in `guard`).
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

READS = ("GET", "HEAD")


@dataclass(frozen=True)
class Visit:
    """A request or a websocket before it is let in. method: of HTTP, or WEBSOCKET. headers: names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """status: 200 lets in, 401 and 403 do not, `text` says why. cookie: to be set, where the token came by URL."""

    status: int
    text: str = ""
    cookie: str = ""


LET_IN = Verdict(200)


class Access:
    """Judges visits. token: empty, none is asked for. port: makes the cookie's name, since cookies know no ports."""

    def __init__(self, token: str, port: int) -> None:
        self._cookie = f"rlt_panel_{port}"
        self._secret = hashlib.sha256(token.encode()).hexdigest() if token else ""
        self._names = {"localhost", *(name.lower() for name in _names_of_this_machine())}

    def judge(self, visit: Visit) -> Verdict:
        """Whether to let it in."""
        refusal = self._foreign(visit)
        if refusal:
            return Verdict(403, refusal)
        if not self._secret or self._known(visit.headers.get("cookie", "")):
            return LET_IN
        shown = parse_qs(visit.query).get("token") if visit.path == "/" and visit.method == "GET" else None
        if not shown:
            return Verdict(401, "this panel asks for its token: open the address that it printed when it started")
        if not self._same(hashlib.sha256(shown[-1].encode()).hexdigest()):
            return Verdict(401, "this is not the token of this panel: open the address that it printed when it started")
        return Verdict(200, cookie=f"{self._cookie}={self._secret}; Path=/; HttpOnly; SameSite=Strict")

    def _foreign(self, visit: Visit) -> str:
        host, origin = visit.headers.get("host", ""), visit.headers.get("origin")
        if not self._is_here(host):
            return f"this panel does not answer to the name {host!r}; open it by its IP address"
        if origin is None and visit.method not in READS:
            return "this panel takes presses from its own page only, and this one does not say where it comes from"
        if origin is not None and origin.split("://")[-1] != host:
            return f"this panel takes presses from its own page only, not from {origin}"
        site, way = visit.headers.get("sec-fetch-site", ""), visit.headers.get("sec-fetch-mode", "")
        if site in ("cross-site", "same-site") and way != "navigate":
            return "this panel shows itself on its own page only"
        return ""

    def _is_here(self, host: str) -> bool:
        # A name can be made to mean this machine by whoever owns it; an address cannot.
        name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() else host
        try:
            return bool(ipaddress.ip_address(name.strip("[]")))
        except ValueError:
            return name.lower() in self._names

    def _known(self, cookies: str) -> bool:
        try:
            morsel = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return morsel is not None and self._same(morsel.value)

    def _same(self, shown: str) -> bool:
        return secrets.compare_digest(shown.encode(), self._secret.encode())


def _names_of_this_machine() -> set[str]:
    name = socket.gethostname()
    return {name, socket.getfqdn(), f"{name.split('.')[0]}.local"} - {""}

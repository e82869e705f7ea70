"""Where the panel listens, and when it asks for a token."""

from __future__ import annotations

import socket

import pytest

from rlt_ros.operator.panel.address import listen


def test_on_this_machine_no_token_is_asked_for() -> None:
    for host in ("127.0.0.1", "localhost", "127.0.0.2"):
        found = listen(host, 0, "")
        with found.sock:
            assert found.token == ""
            assert found.url == f"http://{found.sock.getsockname()[0]}:{found.port}/"


def test_elsewhere_a_token_is_drawn_anew_each_time() -> None:
    tokens = set()
    for _ in range(2):
        found = listen("0.0.0.0", 0, "")
        with found.sock:
            tokens.add(found.token)
            assert found.url.endswith(f":{found.port}/?token={found.token}")
            assert "0.0.0.0" not in found.url
    assert len(tokens) == 2
    assert all(len(token) >= 20 for token in tokens)


def test_a_given_token_is_asked_for_here_too() -> None:
    found = listen("127.0.0.1", 0, "two words & more")
    with found.sock:
        assert found.token == "two words & more"
        assert found.url.endswith("/?token=two+words+%26+more")


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} on 127.0.0.1 is taken.*-p port:=N"):
            listen("127.0.0.1", port, "")


@pytest.mark.parametrize(
    ("host", "port", "token", "said"),
    [
        ("127.0.0.1", 70000, "", "port is 70000; expected 0 to 65535"),
        ("127.0.0.1", -1, "", "port is -1"),
        ("127.0.0.1", 0, "short", "token has 5 characters; expected 8 or more"),
        ("192.0.2.7", 0, "", "cannot listen on 192.0.2.7 port 0"),
        ("no.such.host.invalid", 0, "", "host 'no.such.host.invalid' is no address"),
        ("a" * 70, 0, "", "is no address of this machine"),
    ],
)
def test_what_cannot_be_listened_on_is_named(host: str, port: int, token: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        listen(host, port, token)

"""Who is let in, by what a browser says of itself."""

from __future__ import annotations

import pytest

from rlt_ros.operator.panel.access import Access, Visit

TOKEN = "correct horse"
HERE = {"host": "127.0.0.1:8090"}


def visit(method: str = "GET", path: str = "/", query: str = "", **headers: str) -> Visit:
    return Visit(method, path, query, HERE | {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:9000", "[::1]:8090", "192.168.7.2", "LOCALHOST"])
def test_addresses_and_this_machines_names_are_answered(host: str) -> None:
    assert Access("", 8090).judge(visit(host=host)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8090", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_a_foreign_name_for_this_machine_is_refused(host: str) -> None:
    verdict = Access("", 8090).judge(visit(host=host))
    assert verdict.status == 403
    assert repr(host) in verdict.text


@pytest.mark.parametrize("method", ["POST", "WEBSOCKET", "PUT", "DELETE", "OPTIONS", "GET"])
@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:3000", "http://localhost:8090", "null"])
def test_a_foreign_origin_is_refused(method: str, origin: str) -> None:
    assert Access("", 8090).judge(visit(method, "/line", origin=origin)).status == 403


@pytest.mark.parametrize("method", ["POST", "WEBSOCKET"])
def test_presses_say_where_they_come_from(method: str) -> None:
    access = Access("", 8090)
    assert access.judge(visit(method, "/line")).status == 403
    assert access.judge(visit(method, "/line", origin="http://127.0.0.1:8090")).status == 200


def test_a_foreign_page_shows_nothing_of_ours_but_may_link_to_it() -> None:
    access = Access("", 8090)
    for site in ("cross-site", "same-site"):
        assert access.judge(visit(path="/picture/wrist", sec_fetch_site=site, sec_fetch_mode="no-cors")).status == 403
        assert access.judge(visit(sec_fetch_site=site, sec_fetch_mode="navigate")).status == 200


@pytest.mark.parametrize("path", ["/", "/picture/wrist", "/static/panel.js", "/_nicegui_ws/socket.io/"])
def test_without_the_token_nothing_is_shown(path: str) -> None:
    access = Access(TOKEN, 8090)
    assert access.judge(visit(path=path)).status == 401
    assert access.judge(visit(path=path, cookie="rlt_panel_8090=wrong")).status == 401
    for method in ("POST", "WEBSOCKET"):
        assert access.judge(visit(method, path, origin="http://127.0.0.1:8090")).status == 401


def test_the_token_in_the_url_becomes_a_cookie_that_lets_in() -> None:
    access = Access(TOKEN, 8090)
    verdict = access.judge(visit(query="token=correct%20horse"))
    assert verdict.status == 200
    for attribute in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert attribute in verdict.cookie
    assert "correct" not in verdict.cookie
    cookie = verdict.cookie.split(";")[0]
    assert access.judge(visit(cookie=f"other=1; {cookie}")).status == 200
    assert Access(TOKEN, 8091).judge(visit(cookie=cookie)).status == 401
    assert Access("another one", 8090).judge(visit(cookie=cookie)).status == 401


@pytest.mark.parametrize("query", ["token=wrong", "token=", "token=correct", "tokens=correct%20horse", "token=\xe4"])
def test_a_wrong_token_is_refused(query: str) -> None:
    assert Access(TOKEN, 8090).judge(visit(query=query)).status == 401


def test_the_token_counts_at_the_front_door_only() -> None:
    query = "token=correct%20horse"
    assert Access(TOKEN, 8090).judge(visit(path="/picture/wrist", query=query)).status == 401
    assert Access(TOKEN, 8090).judge(visit("POST", query=query, origin="http://127.0.0.1:8090")).status == 401


@pytest.mark.parametrize("cookie", ["rlt_panel_8090=\xff", "rlt_panel_8090", ";;;", "=", "a=b; rlt_panel_8090=\x00"])
def test_odd_cookies_are_no_token(cookie: str) -> None:
    assert Access(TOKEN, 8090).judge(visit(cookie=cookie)).status == 401

"""A VLA on a server: real processes, real sockets."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from vla_conformance import CHECKS, example, what_is_saved_is_loaded
from vla_server import Server, described, small_vla
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import connect

from rlt_ros.vla.contract import VLAUnavailable
from rlt_ros.vla.remote.client import RemoteVLA, load
from rlt_ros.vla.remote.config import ENCODINGS, RemoteConfig
from rlt_ros.vla.remote.link import VLARefused
from rlt_ros.vla.remote.pictures import encode
from rlt_ros.vla.remote.service import Service
from rlt_ros.vla.remote.wire import LARGEST_BATCH, PROTOCOL, pack, unpack

SECRET = "a secret of the tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("vla")


@pytest.fixture(scope="module")
def description(folder):
    return described(small_vla(), folder / "tiny")


@pytest.fixture(scope="module")
def server(description):
    server = Server("--vla", description, "--port", 0)
    yield server
    assert server.end() == 0


@pytest.fixture
def serve(request):
    """Starts servers that end with the test, however it ends."""

    def start(*arguments, **options):
        server = Server(*arguments, **options)
        request.addfinalizer(server.end)
        return server

    return start


@pytest.fixture(scope="module")
def vla(server):
    vla = RemoteVLA(RemoteConfig(server.url))
    yield vla
    vla.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(vla, check):
    check(vla)


def test_saved_and_loaded(vla, tmp_path):
    what_is_saved_is_loaded(vla, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("images", ["raw", "png"])
def test_answers_are_those_of_the_vla_itself_to_the_last_bit(server, images):
    local, remote = small_vla(), RemoteVLA(RemoteConfig(server.url, images=images))
    assert remote.identity == local.identity
    batch = example(local, 3)
    want, got = (each.infer(batch, [1, 2**64 - 1, 3]) for each in (local, remote))
    assert torch.equal(got.tokens, want.tokens) and torch.equal(got.reference, want.reference)
    assert torch.equal(got.mask, want.mask) and got.kinds == want.kinds


def test_jpeg_comes_close(server, vla):
    batch = example(vla, 1)
    compressed = RemoteVLA(RemoteConfig(server.url, images="jpeg")).infer(batch, [1])
    exact = vla.infer(batch, [1])
    assert not torch.equal(compressed.tokens, exact.tokens)
    assert (compressed.tokens - exact.tokens).abs().mean() < 0.5 * exact.tokens.abs().mean()


def test_the_servers_words_about_bad_input_reach_the_caller_and_the_connection_lasts(vla):
    with pytest.raises(ValueError, match="5 words in 'please insert the peg now'"):
        vla.infer(example(vla, 1, "please insert the peg now"), [1])
    vla.infer(example(vla, 1), [1])


def test_several_clients_are_served(server):
    want = small_vla().infer(example(small_vla(), 1), [5]).reference

    def ask(_: int) -> bool:
        client = RemoteVLA(RemoteConfig(server.url))
        answers = [client.infer(example(client, 1), [5]).reference for _ in range(5)]
        client.close()
        return all(torch.equal(answer, want) for answer in answers)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))


def test_another_identity_is_refused_with_both_values(server, vla):
    with pytest.raises(VLARefused, match=f"'something else' here, '{vla.identity}' there"):
        load({"url": server.url, "identity": "something else"}, Path(), "test")


@pytest.mark.parametrize(
    "hello", [b"\x00", pack("hello", protocol=PROTOCOL), pack("hello", protocol="rlt-vla/0", mac=b"")]
)
def test_a_strange_client_is_told_why_it_is_sent_away(server, hello):
    with connect(server.url, proxy=None) as socket:
        assert unpack(socket.recv(timeout=5))["type"] == "challenge"
        socket.send(hello)
        reply = unpack(socket.recv(timeout=5))
    assert reply["code"] == "refused" and reply["text"]


def test_more_than_a_question_can_be_is_not_taken_in(server):
    with connect(server.url, proxy=None) as socket:
        socket.recv(timeout=5)
        with pytest.raises(ConnectionClosed) as caught:
            socket.send(bytes(8 * 2**20))
            socket.recv(timeout=5)
    assert caught.value.rcvd.code == CloseCode.MESSAGE_TOO_BIG


def test_the_largest_question_fits():
    service = Service(small_vla())
    batch = example(service.vla, LARGEST_BATCH)  # noise, which compresses to more than it was
    for encoding in ENCODINGS:
        images = {name: encode(pictures, encoding) for name, pictures in batch.images.items()}
        seeds = np.zeros(LARGEST_BATCH, np.uint64)
        sent = pack(
            "infer", images=images, proprio=batch.proprio, state=batch.state, seeds=seeds, instruction="x" * 999
        )
        assert len(sent) < service.largest_question


@pytest.mark.parametrize("count", [1, 7, LARGEST_BATCH + 3])
def test_a_batch_whose_answer_would_be_too_large_is_asked_in_parts(server, monkeypatch, count):
    """64 answers of pi0.5 are 484 MiB: what Stage 1 and `rlt cache` ask for at once."""
    local = small_vla()
    one = 4 * len(local.kinds) * local.width
    monkeypatch.setattr("rlt_ros.vla.remote.link.LARGEST", 6 * one)
    monkeypatch.setattr("rlt_ros.vla.remote.client.ANSWER", 3 * one, raising=False)
    remote, batch, seeds = RemoteVLA(RemoteConfig(server.url)), example(local, count), list(range(count))
    want, got = local.infer(batch, seeds), remote.infer(batch, seeds)
    assert got.kinds == want.kinds
    for field in ("tokens", "mask", "reference"):
        torch.testing.assert_close(getattr(got, field), getattr(want, field), rtol=1e-5, atol=1e-5)


def test_a_page_in_a_browser_is_no_client(server):
    with pytest.raises(InvalidStatus, match="403"), connect(server.url, proxy=None, origin="http://somewhere"):
        pass


def test_settings_that_make_no_sense_are_refused():
    for settings in (
        {"url": "http://gpu"},
        {"url": "ws://gpu:1", "images": "gif"},
        {"url": "ws://gpu:1", "timeout": 0.0},
    ):
        with pytest.raises(ValueError):
            RemoteConfig(**settings)


def test_nobody_gets_in_without_the_secret(description, tmp_path, monkeypatch, serve):
    monkeypatch.delenv("RLT_VLA_TOKEN", raising=False)
    server = serve("--vla", description, "--port", 0, "--host", "0.0.0.0", secret=SECRET)
    url = f"ws://127.0.0.1:{server.port}"
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(SECRET + "\n")
    wrong.write_text(SECRET.upper())
    with pytest.raises(VLARefused, match="secret: none given; RLT_VLA_TOKEN or token_file"):
        RemoteVLA(RemoteConfig(url))
    with pytest.raises(VLARefused, match="secret: not the server's"):
        RemoteVLA(RemoteConfig(url, token_file=str(wrong)))
    load({"url": url, "token_file": "right"}, tmp_path, "test").close()
    assert server.end() == 0
    assert not any(SECRET in line for line in server.lines)


def refused(*arguments):
    command = [sys.executable, "-m", "rlt_ros", "serve-vla", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    return done.stderr


def test_without_a_secret_only_this_machine_can_be_served(description, monkeypatch):
    monkeypatch.delenv("RLT_VLA_TOKEN", raising=False)
    assert "host is 0.0.0.0" in refused("--vla", description, "--host", "0.0.0.0")


def test_a_server_that_cannot_start_says_why(description, server, folder):
    (folder / "short").write_text("short")
    assert "secret of 5 bytes" in refused("--vla", description, "--token-file", folder / "short")
    assert "in use" in refused("--vla", description, "--port", server.port)
    (folder / "bad.yaml").write_text("backend: huge\n")
    assert "'huge'; known are tiny" in refused("--vla", folder / "bad.yaml")
    assert "not a Stage-1 checkpoint" in refused("--checkpoint", folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_cleanly_and_it_reports_its_passes(description, number, serve):
    server = serve("--vla", description, "--port", 0)
    vla = RemoteVLA(RemoteConfig(server.url))
    vla.infer(example(vla, 1), [1])
    assert server.end(number) == 0
    last = server.lines[-1]
    assert json.loads(last[last.index("{") :])["passes"] == 1
    assert "Traceback" not in "".join(server.lines)
    with pytest.raises(VLAUnavailable):
        vla.infer(example(vla, 1), [1])


def answers_again(vla, seconds=120.0):
    """The first answer after an outage."""
    until = time.monotonic() + seconds
    while True:
        try:
            return vla.infer(example(vla, 1), [1])
        except VLAUnavailable:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_a_server_that_was_killed_and_came_back_is_found_again(description, serve):
    server = serve("--vla", description, "--port", 0)
    vla = RemoteVLA(RemoteConfig(server.url))
    want = vla.infer(example(vla, 1), [1])
    server.end(signal.SIGKILL)
    started = time.monotonic()
    for _ in range(50):
        with pytest.raises(VLAUnavailable):
            vla.infer(example(vla, 1), [1])
    assert time.monotonic() - started < 5.0, "between attempts nobody waits"
    server = serve("--vla", description, "--port", server.port)
    assert torch.equal(answers_again(vla).tokens, want.tokens)
    assert server.end() == 0


def test_another_vla_on_the_same_port_is_not_taken_for_the_old_one(description, folder, serve):
    server = serve("--vla", description, "--port", 0)
    vla = RemoteVLA(RemoteConfig(server.url))
    server.end(signal.SIGKILL)
    other = small_vla(1)
    server = serve("--vla", described(other, folder / "other"), "--port", server.port)
    until = time.monotonic() + 120.0
    while True:
        with pytest.raises(VLAUnavailable) as caught:
            vla.infer(example(vla, 1), [1])
        if vla.identity in str(caught.value):
            break
        assert time.monotonic() < until
        time.sleep(0.02)
    assert other.identity in str(caught.value)
    server.end()


def test_a_server_that_hangs_is_given_up_in_time_and_used_again_when_it_answers(description, serve):
    server = serve("--vla", description, "--port", 0)
    vla = RemoteVLA(RemoteConfig(server.url, timeout=0.3, connect_timeout=0.3))
    server.send(signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(VLAUnavailable, match="timed out"):
        vla.infer(example(vla, 1), [1])
    assert time.monotonic() - started < 5.0
    server.send(signal.SIGCONT)
    answers_again(vla)
    assert server.end() == 0


def test_a_client_waits_for_its_server_only_so_long():
    with pytest.raises(VLAUnavailable, match="ws://127.0.0.1:9"):
        RemoteVLA(RemoteConfig("ws://127.0.0.1:9", patience=0.3))

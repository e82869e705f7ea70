"""The features node with a VLA on a server that goes away and comes back: real processes, DDS and sockets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from graph import Listener, new_domain
from stage1_example import observation, small_stage1
from vla_server import Server

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import features_from_message
from rlt_ros.nodes.convert_robot import observation_to_message
from rlt_ros.token.checkpoint import load_stage1, save_stage1
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.types import Observation

NODE = "from rlt_ros.nodes.features import main; main()"


class FeaturesProcess:
    """The node as a process, and its topics as a test sees them."""

    def __init__(self, log: Path, **parameters: object) -> None:
        domain = new_domain()
        given = [part for name, value in parameters.items() for part in ("-p", f"{name}:={value}")]
        command = [sys.executable, "-c", NODE, "--ros-args", "-r", "__ns:=/rlt", *given]
        self.log = log
        self._output = log.open("w")
        env = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        self.process = subprocess.Popen(command, stdout=self._output, stderr=subprocess.STDOUT, env=env)
        self.listener = Listener({"/rlt/features": (msg.Features, qos.STEP)}, domain)
        self._publisher = self.listener.node.create_publisher(msg.Observation, "/rlt/observation", qos.STEP)

    def observe(self, seen: Observation) -> None:
        self._publisher.publish(observation_to_message(seen, "fr3_link0"))

    @property
    def ids(self) -> list[int]:
        self.listener.spin(0.01)
        return [features.id for features in self.listener.received["/rlt/features"]]

    def wait_for(self, what: Callable[[], bool], why: str, seconds: float = 180.0) -> None:
        until = time.monotonic() + seconds
        while not what():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, f"{why}: {self.log.read_text()}"
            time.sleep(0.01)

    def connected(self) -> bool:
        return self._publisher.get_subscription_count() > 0

    def end(self) -> int:
        if not self._output.closed:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(120)
            self.listener.close()
            self._output.close()
        return self.process.returncode


@pytest.fixture()
def checkpoint(tmp_path: Path) -> Path:
    save_stage1(tmp_path / "stage1", small_stage1(), {})
    return tmp_path / "stage1"


@pytest.fixture()
def server(checkpoint: Path) -> Iterator[Server]:
    server = Server("--checkpoint", checkpoint, "--port", 0)
    yield server
    server.end()


@pytest.fixture()
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., FeaturesProcess]:
    """Starts nodes that end with the test, however it ends."""

    def started(**parameters: object) -> FeaturesProcess:
        node = FeaturesProcess(tmp_path / "log", **parameters)
        request.addfinalizer(node.end)
        return node

    return started


@pytest.mark.parametrize("lockstep", [False, True])
def test_an_outage_of_the_server_means_no_features_and_then_features_again(
    server: Server,
    checkpoint: Path,
    start: Callable[..., FeaturesProcess],
    lockstep: bool,
    request: pytest.FixtureRequest,
) -> None:
    node = start(checkpoint=checkpoint, vla_url=server.url, lockstep=lockstep, stride=1)
    node.wait_for(node.connected, "subscription")
    node.observe(observation(1))
    node.wait_for(lambda: node.ids == [1], "features before the outage")
    server.end(signal.SIGKILL)
    node.observe(observation(2))
    node.wait_for(lambda: "no features: " in node.log.read_text(), "the word about it")
    assert node.ids == [1]
    back = Server("--checkpoint", checkpoint, "--port", server.port)
    request.addfinalizer(back.end)
    node.observe(observation(3))
    node.wait_for(lambda: sorted(node.ids) == [1, 2, 3], "features after the outage, those in between too")
    local = FeatureExtractor(load_stage1(checkpoint), seed=0)
    for message in node.listener.received["/rlt/features"]:
        got, want = features_from_message(message), local.features([observation(message.id)])[0]
        np.testing.assert_allclose(got.z, want.z, atol=1e-5)
        np.testing.assert_allclose(got.reference, want.reference, atol=1e-5)
    assert node.end() == 0
    assert back.end() == 0
    assert "Traceback" not in node.log.read_text()


def test_a_node_whose_server_has_another_vla_does_not_start(
    server: Server, tmp_path: Path, start: Callable[..., FeaturesProcess]
) -> None:
    other = small_stage1(1)
    save_stage1(tmp_path / "other", other, {})
    node = start(checkpoint=tmp_path / "other", vla_url=server.url)
    assert node.process.wait(180) == 1
    text = node.log.read_text()
    assert other.vla.identity in text and small_stage1().vla.identity in text and "Traceback" not in text

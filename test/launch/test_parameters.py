"""Parameters as `ros2 param` and rqt_reconfigure see them: real nodes, real DDS."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import views
from graph import Graph, Listener, new_domain
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, ListParameters
from visualization_msgs.msg import MarkerArray

from rlt_ros.nodes import qos

RULES = Path(__file__).parents[2] / "config/operator/referee.yaml"
OURS = ("actor", "executor", "features", "learner", "markers", "observation", "sim", "teleop")
NUMBERS = (ParameterType.PARAMETER_INTEGER, ParameterType.PARAMETER_DOUBLE)
TOPICS: dict[str, tuple[type, Any]] = {}
RCLPYS_OWN = ("use_sim_time", "start_type_description_service")


class Node:
    """One node as a process, and `ros2 param` towards it."""

    def __init__(self, name: str, log: Path, **parameters: object) -> None:
        self.name, self.log, self.domain = f"/rlt/{name}", log, new_domain()
        self._env = {**os.environ, "ROS_DOMAIN_ID": str(self.domain)}
        given = [part for key, value in parameters.items() for part in ("-p", f"{key}:={value}")]
        start = f"from rlt_ros.nodes.{name} import main; main()"
        command = [sys.executable, "-c", start, "--ros-args", "-r", "__ns:=/rlt", *given]
        with log.open("w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=self._env)

    def param(self, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["ros2", "param", verb, self.name, *words, "--timeout", "60"]
        return subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=120)

    def set(self, name: str, value: str) -> str:
        """What is printed, on either stream."""
        done = self.param("set", name, value)
        return done.stdout + done.stderr

    def said(self, words: str) -> bool:
        return words in self.log.read_text()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    nodes: list[Node] = []

    def made(name: str, **parameters: object) -> Node:
        nodes.append(Node(name, tmp_path / f"{name}.log", **parameters))
        return nodes[-1]

    yield made
    for node in nodes:
        node.end()


def awaited(what: Callable[[], Any], why: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def test_the_rate_of_markers_changes_at_once_and_within_its_range(start: Callable[..., Node]) -> None:
    markers = start("markers", rate=0.1)
    described = markers.param("describe", "rate").stdout
    assert "Description: Publications a second [Hz]." in described
    assert "Min value: 0.1" in described
    assert "Max value: 100.0" in described
    assert "Read only: true" not in described
    for wrong in ("0.0", "101.0", ".nan", "fast"):
        assert markers.set("rate", wrong).startswith("Setting parameter failed"), wrong
    assert "0.1" in markers.param("get", "rate").stdout
    listener = Listener({"/rlt/markers": (MarkerArray, qos.COMMAND)}, markers.domain)
    try:
        assert markers.set("rate", "50.0") == "Set parameter successful\n"
        count = len(listener.received["/rlt/markers"])
        # Under the old rate six of them would come in a minute.
        awaited(lambda: listener.spin() and len(listener.received["/rlt/markers"]) > count + 20, "20 markers", 60)
    finally:
        listener.close()
    assert markers.said("parameter rate is 50.0 from now on")


def test_exploration_is_set_in_real_time_and_not_in_lockstep(start: Callable[..., Node]) -> None:
    actor = start("actor", autostart="false")
    assert "Max value: 1.0" in actor.param("describe", "sigma").stdout
    assert actor.set("sigma", "0.05") == "Set parameter successful\n"
    assert "0.05" in actor.param("get", "sigma").stdout
    assert "out of range" in actor.set("sigma", "1.5")
    assert "read-only" in actor.set("noise_hold", "3")
    actor.end()
    exact = start("actor", autostart="false", lockstep="true")
    assert "read-only" in exact.set("sigma", "0.05")
    assert "0.1" in exact.param("get", "sigma").stdout


def test_the_referee_is_switched_off_and_on(start: Callable[..., Node]) -> None:
    referee = start("referee", rules=RULES)
    assert referee.set("enabled", "false") == "Set parameter successful\n"
    assert "False" in referee.param("get", "enabled").stdout
    assert referee.set("enabled", "3").startswith("Setting parameter failed")
    assert "read-only" in referee.set("rules", "other.yaml")


def test_a_value_out_of_range_at_start_ends_the_node_with_the_reason(start: Callable[..., Node]) -> None:
    markers = start("markers", rate=1000.0)
    assert markers.process.wait(60) == 1
    assert re.search(r"parameters of markers\.rate: .*out of range.*1000", markers.log.read_text())


def test_a_watch_that_is_off_is_within_its_range(start: Callable[..., Node]) -> None:
    executor = start("executor", publisher_lease=0.0)
    assert "0.0" in executor.param("get", "publisher_lease").stdout
    assert "read-only" in executor.set("watch_chunk", "1.0")


class Asked:
    """Calls of parameter services."""

    def __init__(self, graph: Graph, listener: Listener) -> None:
        self._graph, self._listener = graph, listener

    def call(self, kind: type, name: str, request: Any) -> Any:
        client = self._listener.node.create_client(kind, name)
        self._graph.wait_for(client.service_is_ready, 60, name)
        future = client.call_async(request)
        self._graph.wait_for(lambda: self._listener.spin() and future.done(), 60, f"an answer of {name}")
        return future.result()

    def descriptors(self, node: str) -> list[ParameterDescriptor]:
        names = self.call(ListParameters, f"{node}/list_parameters", ListParameters.Request()).result.names
        request = DescribeParameters.Request(names=list(names))
        return self.call(DescribeParameters, f"{node}/describe_parameters", request).descriptors


def test_every_number_of_every_node_has_a_meaning_and_a_range(stage2: Callable[..., Graph], listener: Listener) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=20.0, monitor="true")
    asked, numbers = Asked(graph, listener), 0
    for node in OURS:
        for found in asked.descriptors(f"/rlt/{node}"):
            if found.name in RCLPYS_OWN or found.name.startswith("qos_overrides"):
                continue
            assert found.description, f"{node}.{found.name}"
            if found.type in NUMBERS:
                limits = [*found.integer_range, *found.floating_point_range]
                assert len(limits) == 1, f"{node}.{found.name}"
                assert limits[0].from_value < limits[0].to_value, f"{node}.{found.name}"
                numbers += 1
    assert numbers > 80


def test_rqt_opens_with_reconfigure() -> None:
    assert "rqt_reconfigure/Param" in views.plugins()

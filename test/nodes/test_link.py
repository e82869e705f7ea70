"""What two sides of a graph learn of each other before anything else passes between them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from graph import new_domain
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.link import LinkAnswer, LinkWatch
from rlt_ros.nodes.runtime import BaseNode


class Graph:
    """Nodes of one process in a domain of their own."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=new_domain())
        self.executor = SingleThreadedExecutor(context=self.context)

    def node(self, name: str, **parameters: object) -> BaseNode:
        overrides = [Parameter(key, value=value) for key, value in parameters.items()]
        made = BaseNode(name, context=self.context, namespace="arm1", parameter_overrides=overrides)
        self.executor.add_node(made)
        return made

    def until(self, condition, seconds: float = 60.0) -> None:
        for _ in range(int(seconds / 0.05)):
            if condition():
                return
            self.executor.spin_once(timeout_sec=0.05)
        raise AssertionError("time is up")


@pytest.fixture()
def graph() -> Iterator[Graph]:
    made = Graph()
    yield made
    rclpy.shutdown(context=made.context)


@pytest.fixture()
def sides(graph: Graph):
    """Starts an actor's side and a learner's; what the first one publishes is kept."""

    def start(contract: str = "a", lockstep: bool = False, clock_error: float = 0.0) -> SimpleNamespace:
        asks = graph.node("actor")
        answers = graph.node("learner", lockstep=lockstep, clock_error=clock_error)
        kept = SimpleNamespace(stats=[], status=[])
        asks.create_subscription(msg.LinkStats, "link_stats", kept.stats.append, qos.STATS)
        keep = lambda m: kept.status.append(m.status[0])  # noqa: E731
        asks.create_subscription(DiagnosticArray, "/diagnostics", keep, qos.STATS)
        LinkWatch(asks, "a", expected=("learner", "features"))
        LinkAnswer(answers, ("arm1", "arm2"), contract)
        return kept

    return start


def test_equal_sides_know_host_clock_and_way(graph: Graph, sides) -> None:
    kept = sides()
    graph.until(lambda: len(kept.stats) > 1 and kept.status)
    last = kept.stats[-1]
    assert last.node == "/arm1/learner" and last.host
    assert 0.0 < last.round_trip < 5.0 and last.silence < 5.0
    assert abs(last.clock_offset) <= last.clock_uncertainty
    assert kept.status[-1].level == DiagnosticStatus.OK


def test_a_clock_that_is_200_ms_ahead_is_measured_and_warned_of(graph: Graph, sides, capfd) -> None:
    kept = sides(clock_error=0.2)
    graph.until(lambda: any(s.level == DiagnosticStatus.WARN for s in kept.status))
    last = kept.stats[-1]
    assert abs(last.clock_offset - 0.2) <= last.clock_uncertainty + 1e-4
    said = capfd.readouterr().err
    assert "ms ahead of that of" in said and "limit 50 ms: is chrony running on both?" in said


def test_another_stage_1_checkpoint_is_refused_with_both_fingerprints(graph: Graph, sides, capfd) -> None:
    kept = sides(contract="b")
    graph.until(lambda: kept.status)
    assert kept.status[-1].level == DiagnosticStatus.ERROR
    assert (
        "does not fit: its Stage-1 contract is b, ours a: give both sides the same checkpoint" in capfd.readouterr().err
    )


def test_one_side_in_lockstep_alone_is_said(graph: Graph, sides, capfd) -> None:
    kept = sides(lockstep=True)
    graph.until(lambda: kept.status)
    assert "lockstep is True there and False here" in capfd.readouterr().err


def test_who_does_not_answer_is_waited_for_aloud(graph: Graph, sides, capfd) -> None:
    sides()
    said: list[str] = []
    graph.until(lambda: said.append(capfd.readouterr().err) or "waiting for features" in "".join(said))
    assert "learner on" in "".join(said) and "waiting for learner" not in "".join(said)

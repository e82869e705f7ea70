"""What the shipped views show is there: topics, types, quality of service and fields, in a running graph."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import views
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from graph import Graph, Listener
from rclpy.qos import DurabilityPolicy, QoSCompatibility, QoSProfile, ReliabilityPolicy, qos_check_compatible
from rrd import entities
from visualization_msgs.msg import Marker, MarkerArray

from rlt_ros.nodes import qos
from rlt_ros.robot.config import load_robot

MARKERS = "/rlt/markers"
TOPICS = {MARKERS: (MarkerArray, qos.COMMAND)}
ROBOT = load_robot()


def check(shown: views.Shown, listener: Listener) -> str:
    """What is wrong with what a view subscribes to, empty if nothing is."""
    publishers = listener.node.get_publishers_info_by_topic(shown.topic)
    if not publishers:
        return f"{shown.where}: nobody publishes {shown.topic}"
    asked = QoSProfile(
        depth=1,
        reliability=ReliabilityPolicy.RELIABLE if shown.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if shown.latched else DurabilityPolicy.VOLATILE,
    )
    for publisher in publishers:
        if publisher.topic_type != shown.kind:
            return f"{shown.where}: {shown.topic} is of type {publisher.topic_type}; expected {shown.kind}"
        verdict, reason = qos_check_compatible(publisher.qos_profile, asked)
        if verdict == QoSCompatibility.ERROR:
            return f"{shown.where}: {shown.topic}: {reason}"
    return ""


def get_message(kind: str) -> Any:
    """Class of a message type such as std_msgs/msg/Header."""
    package, _, name = kind.partition("/msg/")
    return getattr(import_module(f"{package}.msg"), name)


def is_number(kind: Any, fields: list[str]) -> bool:
    """Whether a path of fields leads to a number."""
    types = kind.get_fields_and_field_types()
    first, rest = fields[0], fields[1:]
    if first not in types:
        return False
    if rest:
        return "/" in types[first] and is_number(get_message(types[first].replace("/", "/msg/")), rest)
    return bool(re.fullmatch(r"u?int\d+|float|double|boolean", types[first]))


def curve_is_there(curve: str, listener: Listener) -> bool:
    for topic, kinds in listener.node.get_topic_names_and_types():
        if curve.startswith(f"{topic}/"):
            return is_number(get_message(kinds[0]), curve.removeprefix(f"{topic}/").split("/"))
    return False


def test_every_view_finds_what_it_shows(stage2: Callable[..., Graph], listener: Listener) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=20.0, monitor="true")
    graph.wait_for(lambda: listener.spin() and listener.received[MARKERS], 120, "markers")
    for shown in [*views.rviz_topics(), *views.rqt_topics()]:
        graph.wait_for(lambda shown=shown: listener.spin() and not check(shown, listener), 60, check(shown, listener))
    for curve in views.plotted():
        graph.wait_for(lambda curve=curve: listener.spin() and curve_is_there(curve, listener), 60, f"a number {curve}")
    check_markers(graph, listener)
    check_tools_are_named(graph.text)


def check_markers(graph: Graph, listener: Listener) -> None:
    """All of them come sooner or later, and tell of this robot."""
    seen: dict[str, Marker] = {}

    def all_there() -> bool:
        listener.spin()
        seen.update({marker.ns: marker for message in listener.received[MARKERS] for marker in message.markers})
        return {"workspace", "reference", "executed", "mode", "actor"} <= set(seen)

    graph.wait_for(all_there, 240, "markers of everything, the learned actor's chunks with them")
    assert {marker.header.frame_id for marker in seen.values()} == {ROBOT.base_frame}
    box = ROBOT.limits.workspace
    for name in ("reference", "actor", "executed"):
        points = np.array([(p.x, p.y, p.z) for p in seen[name].points])
        assert (points > np.array(box.lower) - 0.1).all() and (points < np.array(box.upper) + 0.1).all(), name
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        assert steps.max() < 3 * ROBOT.action_scale.translation + ROBOT.limits.leash_translation, name
    assert re.search(r"practice: (APPROACH|CRITICAL)", seen["mode"].text), seen["mode"].text


def check_tools_are_named(text: str) -> None:
    """RViz and rqt are not part of the environment that stands in for a distribution."""
    for package in ("rviz2", "rqt_gui", "rqt_plot", "diagnostic_aggregator"):
        if f"{package} is not installed" in text:
            assert f"apt install ros-kilted-{package.replace('_', '-')}" in text


def test_monitoring_alone_starts_without_a_graph_and_ends_cleanly(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "launch.log", {"plotjuggler": "true"}, launch_file="monitor.launch.py")
    try:
        graph.wait_for_line(rf"{MARKERS}: markers in {ROBOT.base_frame}, at most 10 a second")
        graph.wait_for_line(r"plotjuggler is not installed: apt install ros-\w+-plotjuggler|going on without plotjugg")
        graph.send(signal.SIGINT, whole_group=True)
        graph.end(60)
        assert "Traceback" not in graph.text
    finally:
        graph.abandon()


def test_rerun_records_what_is_seen_without_a_display(
    stage2: Callable[..., Graph], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    graph = stage2(domain=listener.domain, practice_minutes=0.35, eval_episodes=1, monitor="rerun")
    assert graph.end(300) == 0 and "Traceback" not in graph.text
    found = entities(graph.run_dir / "monitor.rrd")
    cameras = {f"/cameras/{name}" for name in ROBOT.cameras}
    world = {f"/world/{name}" for name in ("workspace", "reference", "actor", "executed", "force", "arm")}
    assert cameras | world | {"/status", "/curves/learner_stats/q_mean", "/curves/force/z"} <= set(found)
    assert found["/world/arm"] > 20 and min(found[camera] for camera in cameras) > 10


PARTS = {
    "observation": {"scheduling", "topics", "observations"},
    "features": {"scheduling", "topics", "passes"},
    "actor": {"scheduling", "topics", "rows", "weights"},
    "executor": {"scheduling", "topics", "counts", "command back-end", "robot mode"},
    "teleop": {"scheduling", "topics", "session"},
    "learner": {"scheduling", "topics", "rows", "budget", "gate", "alarms"},
    "sim": {"scheduling", "topics", "simulator"},
    "markers": {"scheduling", "topics"},
}
"""What each node says of itself on /diagnostics, at least."""


def test_every_node_reports_on_diagnostics(stage2: Callable[..., Graph]) -> None:
    listener = Listener({"/diagnostics": (DiagnosticArray, qos.STATS)})
    try:
        graph = stage2(domain=listener.domain, practice_minutes=20.0, monitor="true", fault="gripper_stuck@2:1000")

        def said() -> dict[str, DiagnosticStatus]:
            listener.spin()
            return {s.name: s for message in listener.received["/diagnostics"] for s in message.status}

        wanted = {f"rlt/{node}: {part}" for node, parts in PARTS.items() for part in parts}
        graph.wait_for(lambda: wanted <= set(said()), 180, "every part")
        graph.wait_for(lambda: said()["rlt/sim: simulator"].level == DiagnosticStatus.WARN, 120, "the fault")
        heard = {pair.key: pair.value for pair in said()["rlt/executor: topics"].values}
        assert {"observation", "policy_mode", "action_chunk"} <= set(heard)
        assert all(re.fullmatch(r"[\d.]+ Hz, last [\d.]+ s ago.*", value) for value in heard.values())
        levels = {s.name: (s.level, s.message) for s in said().values() if s.level != DiagnosticStatus.OK}
        assert set(levels) <= {"rlt/sim: simulator", "rlt/learner: alarms"}, levels
    finally:
        listener.close()
